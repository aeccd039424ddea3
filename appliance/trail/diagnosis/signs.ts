// Extracts from a machine's events what was observed of each boot stage since its current work started.

import type { EffectKind } from '../../domain/effect.ts';
import type { NewEventOf, StoredEvent } from '../../domain/event.ts';
import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import { knownEvent } from '../../domain/events/known-event.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Health, Lifecycle } from '../../domain/lifecycle.ts';
import type { Session } from '../../domain/session.ts';
import { type TftpFileKind, tftpFileKind } from '../tftp-files.ts';

/** An event of one of these kinds, with its data as the event table defines it. */
export type Seen<Kind extends EventKind = EventKind> = NewEventOf<Kind>;

/** A TFTP request that names a file: a malformed one does not. */
export type TftpFileEvent = Exclude<Extract<EventKind, `tftp.${string}`>, 'tftp.malformed'>;

const TFTP_FAILURES = [
  'tftp.not-found',
  'tftp.refused',
  'tftp.timeout',
  'tftp.aborted',
  'tftp.ignored',
  'tftp.error',
] as const satisfies readonly TftpFileEvent[];
export type TftpFailure = (typeof TFTP_FAILURES)[number] | 'tftp.malformed';

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
  readonly manualStart: Seen<'bmc.absent' | 'bmc.skipped' | 'bmc.recorded'> | null;
  readonly effectFailed: Seen<'effect.failed'> | null;
  readonly firmwareDiscover: Seen<'dhcp.discover'> | null;
  readonly osDiscover: Seen<'dhcp.discover'> | null;
  readonly offer: Seen<'dhcp.offer'> | null;
  readonly request: Seen<'dhcp.request'> | null;
  readonly ack: Seen<'dhcp.ack'> | null;
  readonly nak: Seen<'dhcp.nak'> | null;
  readonly decline: Seen<'dhcp.decline'> | null;
  readonly silent: Seen<'dhcp.silent'> | null;
  readonly loader: Seen<'tftp.completed' | 'http.served'> | null;
  readonly loaderFailure: Seen<TftpFailure> | null;
  /** It requested the size of its loader, as EDK2 does before it fetches it. */
  readonly loaderProbe: Seen<'tftp.probe' | 'http.probe'> | null;
  /** The loader that we served runs: iPXE requests an address or a script, GRUB reads its files. */
  readonly loaderRuns: Seen<'dhcp.discover' | 'http.entry' | TftpFileEvent> | null;
  /** Its own iPXE script or GRUB configuration. */
  readonly script: Seen<'http.script' | 'boot.decided'> | null;
  readonly bootFailed: Seen<'boot.failed'> | null;
  /** A kernel or initrd that it fetched completely, over HTTP or TFTP. */
  readonly kernel: Seen<'tftp.completed' | 'http.served'> | null;
  readonly imageFailure: Seen<TftpFailure | 'http.served'> | null;
  /** A kernel or initrd transfer in progress: over TFTP an initrd takes minutes. */
  readonly imageInProgress: Seen<'tftp.begun'> | null;
  readonly refused: Seen<'session.refused'> | null;
  readonly failedStep: Seen<'session.step'> | null;
  readonly installed: Seen<'lifecycle.enrolling'> | null;
  /** It entered `enrolling`, whether or not the appliance installed it. */
  readonly enrolling: Seen<'lifecycle.enrolling'> | null;
  /** It failed because it rebooted before its work was finished. */
  readonly restarted: Seen<'lifecycle.failed'> | null;
  readonly loop: Seen<'dhcp.loop'> | null;
  /** Its last DHCP discover, if that came from another network than the declared one. */
  readonly wrongNetwork: { readonly discover: Seen<'dhcp.discover'>; readonly declared: string } | null;
  readonly healthSilent: Seen<'health.silent'> | null;
}

const WORKING = ['lifecycle.commissioning', 'lifecycle.deploying', 'lifecycle.releasing', 'lifecycle.rescue'] as const;

type Program = EventData<'dhcp.discover'>['program'];
const FIRMWARE: ReadonlySet<Program> = new Set(['firmware-pxe', 'firmware-http']);

/** Events that another version wrote in another shape are left out. */
export function signsOf({
  hostname,
  lifecycle,
  health,
  interfaces,
  session: latest,
  events,
  now,
}: DiagnosisInput): Signs {
  const known: readonly Seen[] = events.flatMap((event) => knownEvent(event) ?? []);
  const since = known.findLast(startsWork)?.at ?? 0;
  const session = latest && latest.ticketMadeAt >= since ? latest : null;
  const seen = known.filter(({ at }) => at >= since);
  const boot = bootOf(seen, session);
  const ofKind = <Kind extends EventKind>(...kinds: Kind[]): Seen<Kind> | null =>
    lastOf(seen, (one) => isOf(one, kinds));
  const inBoot = <Kind extends EventKind>(...kinds: Kind[]): Seen<Kind> | null =>
    lastOf(boot, (one) => isOf(one, kinds));
  return {
    hostname,
    lifecycle,
    health,
    session,
    now,
    since,
    manualStart: lastOf(seen, isManualStart) ?? ofKind('bmc.recorded'),
    effectFailed: lastOf(seen, isBmcFailure),
    firmwareDiscover: lastOf(boot, (one) => isDiscover(one, (program) => FIRMWARE.has(program))),
    osDiscover: lastOf(seen, (one) => isDiscover(one, (program) => program === 'os')),
    offer: inBoot('dhcp.offer'),
    request: inBoot('dhcp.request'),
    ack: inBoot('dhcp.ack'),
    nak: inBoot('dhcp.nak'),
    decline: inBoot('dhcp.decline'),
    silent: inBoot('dhcp.silent'),
    loader: lastOf(boot, isLoaderFetch),
    loaderFailure: lastOf(boot, isLoaderFailure),
    loaderProbe: lastOf(boot, isLoaderProbe),
    loaderRuns: lastOf(boot, isLoaderRunning),
    script: lastOf(boot, isScript),
    bootFailed: inBoot('boot.failed'),
    kernel: lastOf(boot, isImageFetch),
    imageFailure: lastOf(boot, isImageFailure),
    imageInProgress: imageInProgress(boot, now),
    refused: ofKind('session.refused'),
    failedStep: lastOf(seen, isFailedStep),
    installed: lastOf(seen, isInstalled),
    enrolling: ofKind('lifecycle.enrolling'),
    restarted: lastOf(seen, isRestarted),
    loop: inBoot('dhcp.loop'),
    wrongNetwork: wrongNetwork(boot, interfaces),
    healthSilent: ofKind('health.silent'),
  };
}

const isOf = <Kind extends EventKind>(one: Seen, kinds: readonly Kind[]): one is Seen<Kind> =>
  kinds.some((kind) => kind === one.kind);

const lastOf = <Kind extends EventKind>(
  among: readonly Seen[],
  matches: (one: Seen) => one is Seen<Kind>,
): Seen<Kind> | null => among.findLast(matches) ?? null;

/** A fallback enters the same state again: that continues the same work. */
const startsWork = (one: Seen): boolean => isOf(one, WORKING) && one.data.before.state !== one.data.after.state;

const isManualStart = (one: Seen): one is Seen<'bmc.absent' | 'bmc.skipped'> =>
  isOf(one, ['bmc.absent', 'bmc.skipped']) && one.data.to_do !== undefined;

const BMC_EFFECTS: ReadonlySet<EffectKind> = new Set(['boot-from-network', 'boot-from-disk', 'power-off']);
const isBmcFailure = (one: Seen): one is Seen<'effect.failed'> =>
  isOf(one, ['effect.failed']) && BMC_EFFECTS.has(one.data.effect);

const isFailedStep = (one: Seen): one is Seen<'session.step'> =>
  isOf(one, ['session.step']) && one.data.status === 'failed';
const isInstalled = (one: Seen): one is Seen<'lifecycle.enrolling'> =>
  isOf(one, ['lifecycle.enrolling']) && one.data.event === 'installed';
const isRestarted = (one: Seen): one is Seen<'lifecycle.failed'> =>
  isOf(one, ['lifecycle.failed']) && one.data.cause === 'restarted';

function wrongNetwork(boot: readonly Seen[], interfaces: DiagnosisInput['interfaces']): Signs['wrongNetwork'] {
  const discover = lastOf(boot, (one) => isOf(one, ['dhcp.discover']));
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

const isLoaderProgram = (program: Program): boolean => FIRMWARE.has(program) || program === 'ipxe';
const isDiscover = (one: Seen, matches: (program: Program) => boolean): one is Seen<'dhcp.discover'> =>
  isOf(one, ['dhcp.discover']) && matches(one.data.program);

export const isTftpFile = (one: Seen): one is Seen<TftpFileEvent> =>
  one.kind.startsWith('tftp.') && one.kind !== 'tftp.malformed';
const isFileKind = (one: Seen<TftpFileEvent>, ...kinds: TftpFileKind[]): boolean =>
  kinds.includes(tftpFileKind(one.data.file));
const isTftp = <Kind extends TftpFileEvent>(one: Seen, kinds: readonly Kind[], file: TftpFileKind): one is Seen<Kind> =>
  isOf<TftpFileEvent>(one, kinds) && isFileKind(one, file);
const isServed = (one: Seen): one is Seen<'http.served'> => isOf(one, ['http.served']);

const isLoaderFetch = (one: Seen): one is Seen<'tftp.completed' | 'http.served'> =>
  isTftp(one, ['tftp.completed'], 'loader') || (isServed(one) && !isSystem(one.data.asset));
/** A malformed request has no file name. */
const isLoaderFailure = (one: Seen): one is Seen<TftpFailure> =>
  isTftp(one, TFTP_FAILURES, 'loader') || one.kind === 'tftp.malformed';
const isLoaderProbe = (one: Seen): one is Seen<'tftp.probe' | 'http.probe'> =>
  isTftp(one, ['tftp.probe'], 'loader') || (isOf(one, ['http.probe']) && !isSystem(one.data.asset));
const isLoaderRunning = (one: Seen): one is Seen<'dhcp.discover' | 'http.entry' | TftpFileEvent> =>
  isDiscover(one, (program) => program === 'ipxe') ||
  one.kind === 'http.entry' ||
  (isTftpFile(one) && isFileKind(one, 'grub', 'ipxe'));
const isScript = (one: Seen): one is Seen<'http.script' | 'boot.decided'> => isOf(one, ['http.script', 'boot.decided']);

const isImageFetch = (one: Seen): one is Seen<'tftp.completed' | 'http.served'> =>
  isTftp(one, ['tftp.completed'], 'image') || (isServed(one) && isSystem(one.data.asset) && one.data.complete);
const isImageFailure = (one: Seen): one is Seen<TftpFailure | 'http.served'> =>
  isTftp(one, TFTP_FAILURES, 'image') || (isServed(one) && isSystem(one.data.asset) && !one.data.complete);

/** A longer transfer counts as ended: an appliance that was off at its end recorded none. */
const MAX_TRANSFER_TIME = 30 * MINUTE;

/** The end of each transfer is recorded, so a transfer without one is in progress. */
function imageInProgress(boot: readonly Seen[], now: Instant): Seen<'tftp.begun'> | null {
  const begun = lastOf(
    boot,
    (one): one is Seen<'tftp.begun'> => isTftp(one, ['tftp.begun'], 'image') && now - one.at < MAX_TRANSFER_TIME,
  );
  if (begun === null) return null;
  const ended = boot.slice(boot.indexOf(begun) + 1).some((one) => isTftpFile(one) && isFileKind(one, 'image'));
  return ended ? null : begun;
}

/** Kernels and initrds are below these two folders; loaders are elsewhere. */
const isSystem = (asset: string | undefined): boolean => asset !== undefined && /^(?:images|nixos)\//.test(asset);
