// Extracts from a machine's events what was observed of each boot stage since its current work started.

import type { Json, StoredEvent } from '../../domain/event.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Health, Lifecycle } from '../../domain/lifecycle.ts';
import type { Session } from '../../domain/session.ts';
import { type TftpFileKind, tftpFileKind } from '../tftp-files.ts';

export type Data = { readonly [key: string]: Json };

export interface Seen {
  readonly at: Instant;
  readonly kind: string;
  readonly data: Data;
}

export interface DiagnosisInput {
  readonly hostname: string;
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  /** As declared. */
  readonly interfaces: readonly { readonly mac: string | null; readonly network: string | null }[];
  readonly session: Session | null;
  readonly events: readonly StoredEvent[];
  readonly now: Instant;
}

/**
 * The last event of each stage since the work started; null: not observed. After its service OS has started, only a boot that
 * began later counts: the stages of the earlier boot succeeded.
 */
export interface Signs {
  readonly hostname: string;
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  readonly session: Session | null;
  readonly now: Instant;
  /** When its current work started. */
  readonly since: Instant;
  readonly manualStart: Seen | null;
  readonly effectFailed: Seen | null;
  readonly firmwareDiscover: Seen | null;
  readonly osDiscover: Seen | null;
  readonly offer: Seen | null;
  readonly request: Seen | null;
  readonly ack: Seen | null;
  readonly nak: Seen | null;
  readonly decline: Seen | null;
  readonly silent: Seen | null;
  readonly loader: Seen | null;
  readonly loaderFailure: Seen | null;
  /** It requested the size of its loader, as EDK2 does before it fetches it. */
  readonly loaderProbe: Seen | null;
  /** The loader that we served runs: iPXE requests an address or a script, GRUB reads its files. */
  readonly loaderRuns: Seen | null;
  /** Its own iPXE script or GRUB configuration. */
  readonly script: Seen | null;
  readonly bootFailed: Seen | null;
  /** A kernel or initrd that it fetched completely, over HTTP or TFTP. */
  readonly kernel: Seen | null;
  readonly imageFailure: Seen | null;
  /** A kernel or initrd transfer in progress: over TFTP an initrd takes minutes. */
  readonly imageInProgress: Seen | null;
  readonly refused: Seen | null;
  readonly failedStep: Seen | null;
  readonly installed: Seen | null;
  /** It entered `enrolling`, whether or not the appliance installed it. */
  readonly enrolling: Seen | null;
  /** It failed because it rebooted before its work was finished. */
  readonly restarted: Seen | null;
  readonly loop: Seen | null;
  /** Its last DHCP discover, if that came from another network than the declared one. */
  readonly wrongNetwork: { readonly discover: Seen; readonly declared: string } | null;
  readonly healthSilent: Seen | null;
}

const WORKING: ReadonlySet<string> = new Set([
  'lifecycle.commissioning',
  'lifecycle.deploying',
  'lifecycle.releasing',
  'lifecycle.rescue',
]);

const FIRMWARE: ReadonlySet<Json | undefined> = new Set(['firmware-pxe', 'firmware-http']);

export function signsOf({
  hostname,
  lifecycle,
  health,
  interfaces,
  session: latest,
  events,
  now,
}: DiagnosisInput): Signs {
  const since = events.findLast(startsWork)?.at ?? 0;
  const session = latest && latest.ticketMadeAt >= since ? latest : null;
  const seen: readonly Seen[] = events
    .filter(({ at }) => at >= since)
    .map(({ at, kind, data }): Seen => ({ at, kind, data: dataOf(data) }));
  const boot = bootOf(seen, session);
  const last = (matches: (one: Seen) => boolean, among = seen): Seen | null => among.findLast(matches) ?? null;
  const ofKind = (...kinds: string[]): Seen | null => last(({ kind }) => kinds.includes(kind));
  const inBoot = (...kinds: string[]): Seen | null => last(({ kind }) => kinds.includes(kind), boot);
  const discover = (matches: (program: Json | undefined) => boolean, among: readonly Seen[]): Seen | null =>
    among.findLast((one) => isDiscover(one, matches)) ?? null;
  return {
    hostname,
    lifecycle,
    health,
    session,
    now,
    since,
    manualStart:
      last(({ kind, data }) => /^bmc\.(absent|skipped)$/.test(kind) && typeof data.to_do === 'string') ??
      ofKind('bmc.recorded'),
    effectFailed: last(({ kind, data }) => kind === 'effect.failed' && BMC_EFFECTS.has(data.effect)),
    firmwareDiscover: discover((program) => FIRMWARE.has(program), boot),
    osDiscover: discover((program) => program === 'os', seen),
    offer: inBoot('dhcp.offer'),
    request: inBoot('dhcp.request'),
    ack: inBoot('dhcp.ack'),
    nak: inBoot('dhcp.nak'),
    decline: inBoot('dhcp.decline'),
    silent: inBoot('dhcp.silent'),
    loader: last(isLoaderFetch, boot),
    loaderFailure: last(isLoaderFailure, boot),
    loaderProbe: last(isLoaderProbe, boot),
    loaderRuns: last(isLoaderRunning, boot),
    script: last(isScript, boot),
    bootFailed: inBoot('boot.failed'),
    kernel: last(isImageFetch, boot),
    imageFailure: last(isImageFailure, boot),
    imageInProgress: imageInProgress(boot, now),
    refused: ofKind('session.refused'),
    failedStep: last(({ kind, data }) => kind === 'session.step' && data.status === 'failed'),
    installed: last(({ kind, data }) => kind === 'lifecycle.enrolling' && data.event === 'installed'),
    enrolling: ofKind('lifecycle.enrolling'),
    restarted: last(({ kind, data }) => kind === 'lifecycle.failed' && data.cause === 'restarted'),
    loop: inBoot('dhcp.loop'),
    wrongNetwork: wrongNetwork(boot, interfaces),
    healthSilent: ofKind('health.silent'),
  };
}

/** A fallback enters the same state again: that continues the same work. */
const startsWork = ({ kind, data }: StoredEvent): boolean => {
  const { before, after } = dataOf(data);
  return WORKING.has(kind) && (before === undefined || dataOf(before).state !== dataOf(after ?? null).state);
};

const BMC_EFFECTS: ReadonlySet<Json | undefined> = new Set(['boot-from-network', 'boot-from-disk', 'power-off']);

function wrongNetwork(boot: readonly Seen[], interfaces: DiagnosisInput['interfaces']): Signs['wrongNetwork'] {
  const discover = boot.findLast(({ kind }) => kind === 'dhcp.discover');
  const declared = interfaces.find(({ mac }) => mac !== null && mac === discover?.data.mac)?.network ?? null;
  return discover && declared !== null && discover.data.network !== declared ? { discover, declared } : null;
}

/** The events of the boot that led to the session, or of a later boot if the machine restarted since. */
function bootOf(seen: readonly Seen[], session: Session | null): readonly Seen[] {
  const opened = session?.openedAt ?? null;
  if (opened === null) return seen;
  const after = seen.filter(({ at }) => at > opened);
  const begins = after.findIndex((one) => isDiscover(one, isLoaderProgram) || isLoaderFetch(one) || isScript(one));
  return begins === -1 ? [] : after.slice(begins);
}

const TFTP_FAILURES: ReadonlySet<string> = new Set([
  ...['tftp.not-found', 'tftp.refused', 'tftp.timeout', 'tftp.aborted', 'tftp.ignored', 'tftp.error', 'tftp.malformed'],
]);

const isLoaderProgram = (program: Json | undefined): boolean => FIRMWARE.has(program) || program === 'ipxe';
const isDiscover = ({ kind, data }: Seen, matches: (program: Json | undefined) => boolean): boolean =>
  kind === 'dhcp.discover' && matches(data.program);

const isFileKind = ({ data: { file } }: Seen, ...kinds: TftpFileKind[]): boolean =>
  typeof file === 'string' && kinds.includes(tftpFileKind(file));
const isTftp = (one: Seen, kind: string, ...kinds: TftpFileKind[]): boolean =>
  one.kind === kind && isFileKind(one, ...kinds);

const isLoaderFetch = (one: Seen): boolean =>
  isTftp(one, 'tftp.completed', 'loader') || (one.kind === 'http.served' && !isSystem(one.data));
/** A malformed request has no file name. */
const isLoaderFailure = (one: Seen): boolean =>
  TFTP_FAILURES.has(one.kind) && (isFileKind(one, 'loader') || one.data.file === undefined);
const isLoaderProbe = (one: Seen): boolean =>
  isTftp(one, 'tftp.probe', 'loader') || (one.kind === 'http.probe' && !isSystem(one.data));
const isLoaderRunning = (one: Seen): boolean =>
  isDiscover(one, (program) => program === 'ipxe') ||
  one.kind === 'http.entry' ||
  (one.kind.startsWith('tftp.') && isFileKind(one, 'grub', 'ipxe'));
const isScript = ({ kind }: Seen): boolean => kind === 'http.script' || kind === 'boot.decided';

const isImageFetch = (one: Seen): boolean =>
  isTftp(one, 'tftp.completed', 'image') ||
  (one.kind === 'http.served' && isSystem(one.data) && one.data.complete === true);
const isImageFailure = (one: Seen): boolean =>
  (TFTP_FAILURES.has(one.kind) && isFileKind(one, 'image')) ||
  (one.kind === 'http.served' && isSystem(one.data) && one.data.complete === false);

/** A longer transfer counts as ended: an appliance that was off at its end recorded none. */
const MAX_TRANSFER_TIME = 30 * MINUTE;

/** The end of each transfer is recorded, so a transfer without one is in progress. */
function imageInProgress(boot: readonly Seen[], now: Instant): Seen | null {
  const begun = boot.findLastIndex((one) => isTftp(one, 'tftp.begun', 'image') && now - one.at < MAX_TRANSFER_TIME);
  if (begun === -1) return null;
  const ended = boot.slice(begun + 1).some((one) => one.kind.startsWith('tftp.') && isFileKind(one, 'image'));
  return ended ? null : (boot[begun] ?? null);
}

/** Kernels and initrds are below these two folders; loaders are elsewhere. */
const isSystem = ({ asset }: Data): boolean => typeof asset === 'string' && /^(?:images|nixos)\//.test(asset);

const dataOf = (data: Json): Data =>
  typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Data) : {};
