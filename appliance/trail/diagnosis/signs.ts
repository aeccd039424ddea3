// What of a boot was seen, stage by stage, out of the events since a machine was put to work.

import type { Json, StoredEvent } from '../../domain/event.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Health, Lifecycle } from '../../domain/lifecycle.ts';
import type { Session } from '../../domain/session.ts';
import { type TftpPart, tftpPart } from '../tftp-files.ts';

export type Data = { readonly [key: string]: Json };

export interface Seen {
  readonly at: Instant;
  readonly kind: string;
  readonly data: Data;
}

export interface Case {
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
 * The last of each, since the work began; null: it was not seen. Once its service OS has come up, only a boot that began after
 * that counts: whatever lies before has worked.
 */
export interface Signs {
  readonly hostname: string;
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  readonly session: Session | null;
  readonly now: Instant;
  /** When it was last put to work. */
  readonly since: Instant;
  readonly byHand: Seen | null;
  readonly effectFailed: Seen | null;
  readonly firmwareAsks: Seen | null;
  readonly systemAsks: Seen | null;
  readonly offer: Seen | null;
  readonly request: Seen | null;
  readonly ack: Seen | null;
  readonly nak: Seen | null;
  readonly decline: Seen | null;
  readonly silent: Seen | null;
  readonly loader: Seen | null;
  readonly loaderTrouble: Seen | null;
  /** The size of its loader was asked for, as EDK2 does before it fetches it. */
  readonly loaderProbe: Seen | null;
  /** What we handed out is running: iPXE asks for an address or a text, GRUB reads its files. */
  readonly loaderRuns: Seen | null;
  /** Its own script, or its own configuration of GRUB. */
  readonly script: Seen | null;
  readonly bootFailed: Seen | null;
  /** A kernel or an initrd that it has whole, over HTTP or TFTP. */
  readonly kernel: Seen | null;
  readonly imageTrouble: Seen | null;
  /** One that it is fetching: over TFTP an initrd takes minutes. */
  readonly imageUnderWay: Seen | null;
  readonly refused: Seen | null;
  readonly failedStep: Seen | null;
  readonly installed: Seen | null;
  /** It entered `enrolling`, installed by us or not. */
  readonly enrolling: Seen | null;
  /** It failed because it booted again before its work was done. */
  readonly restarted: Seen | null;
  readonly loop: Seen | null;
  /** Its last request for an address, where that came in on another network than the declared one. */
  readonly wrongNetwork: { readonly asks: Seen; readonly declared: string } | null;
  readonly healthSilent: Seen | null;
}

const WORKING: ReadonlySet<string> = new Set([
  'lifecycle.commissioning',
  'lifecycle.deploying',
  'lifecycle.releasing',
  'lifecycle.rescue',
]);

const FIRMWARE: ReadonlySet<Json | undefined> = new Set(['firmware-pxe', 'firmware-http']);

export function signsOf({ hostname, lifecycle, health, interfaces, session: latest, events, now }: Case): Signs {
  const since = events.findLast(startsWork)?.at ?? 0;
  const session = latest && latest.ticketMadeAt >= since ? latest : null;
  const seen: readonly Seen[] = events
    .filter(({ at }) => at >= since)
    .map(({ at, kind, data }): Seen => ({ at, kind, data: dataOf(data) }));
  const boot = bootOf(seen, session);
  const last = (fits: (one: Seen) => boolean, among = seen): Seen | null => among.findLast(fits) ?? null;
  const ofKind = (...kinds: string[]): Seen | null => last(({ kind }) => kinds.includes(kind));
  const inBoot = (...kinds: string[]): Seen | null => last(({ kind }) => kinds.includes(kind), boot);
  const asks = (fits: (program: Json | undefined) => boolean, among: readonly Seen[]): Seen | null =>
    among.findLast((one) => isDiscover(one, fits)) ?? null;
  return {
    hostname,
    lifecycle,
    health,
    session,
    now,
    since,
    byHand:
      last(({ kind, data }) => /^bmc\.(absent|skipped)$/.test(kind) && typeof data.to_do === 'string') ??
      ofKind('bmc.recorded'),
    effectFailed: last(({ kind, data }) => kind === 'effect.failed' && BMC_EFFECTS.has(data.effect)),
    firmwareAsks: asks((program) => FIRMWARE.has(program), boot),
    systemAsks: asks((program) => program === 'os', seen),
    offer: inBoot('dhcp.offer'),
    request: inBoot('dhcp.request'),
    ack: inBoot('dhcp.ack'),
    nak: inBoot('dhcp.nak'),
    decline: inBoot('dhcp.decline'),
    silent: inBoot('dhcp.silent'),
    loader: last(isLoaderFetch, boot),
    loaderTrouble: last(isLoaderTrouble, boot),
    loaderProbe: last(isLoaderProbe, boot),
    loaderRuns: last(isLoaderRunning, boot),
    script: last(isScript, boot),
    bootFailed: inBoot('boot.failed'),
    kernel: last(isImageFetch, boot),
    imageTrouble: last(isImageTrouble, boot),
    imageUnderWay: imageUnderWay(boot, now),
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

/** A fallback enters the same state a second time: that is still the same work. */
const startsWork = ({ kind, data }: StoredEvent): boolean => {
  const { before, after } = dataOf(data);
  return WORKING.has(kind) && (before === undefined || dataOf(before).state !== dataOf(after ?? null).state);
};

const BMC_EFFECTS: ReadonlySet<Json | undefined> = new Set(['boot-from-network', 'boot-from-disk', 'power-off']);

function wrongNetwork(boot: readonly Seen[], interfaces: Case['interfaces']): Signs['wrongNetwork'] {
  const asks = boot.findLast(({ kind }) => kind === 'dhcp.discover');
  const declared = interfaces.find(({ mac }) => mac !== null && mac === asks?.data.mac)?.network ?? null;
  return asks && declared !== null && asks.data.network !== declared ? { asks, declared } : null;
}

/** The boot that leads to the session, or the one that began since: then it was started anew. */
function bootOf(seen: readonly Seen[], session: Session | null): readonly Seen[] {
  const opened = session?.openedAt ?? null;
  if (opened === null) return seen;
  const after = seen.filter(({ at }) => at > opened);
  const begins = after.findIndex((one) => isDiscover(one, isLoaderProgram) || isLoaderFetch(one) || isScript(one));
  return begins === -1 ? [] : after.slice(begins);
}

const TFTP_TROUBLES: ReadonlySet<string> = new Set([
  ...['tftp.not-found', 'tftp.refused', 'tftp.timeout', 'tftp.aborted', 'tftp.ignored', 'tftp.error', 'tftp.malformed'],
]);

const isLoaderProgram = (program: Json | undefined): boolean => FIRMWARE.has(program) || program === 'ipxe';
const isDiscover = ({ kind, data }: Seen, fits: (program: Json | undefined) => boolean): boolean =>
  kind === 'dhcp.discover' && fits(data.program);

const isPart = ({ data: { file } }: Seen, ...parts: TftpPart[]): boolean =>
  typeof file === 'string' && parts.includes(tftpPart(file));
const isTftp = (one: Seen, kind: string, ...parts: TftpPart[]): boolean => one.kind === kind && isPart(one, ...parts);

const isLoaderFetch = (one: Seen): boolean =>
  isTftp(one, 'tftp.completed', 'loader') || (one.kind === 'http.served' && !isSystem(one.data));
/** A request that could not be read names no file. */
const isLoaderTrouble = (one: Seen): boolean =>
  TFTP_TROUBLES.has(one.kind) && (isPart(one, 'loader') || one.data.file === undefined);
const isLoaderProbe = (one: Seen): boolean =>
  isTftp(one, 'tftp.probe', 'loader') || (one.kind === 'http.probe' && !isSystem(one.data));
const isLoaderRunning = (one: Seen): boolean =>
  isDiscover(one, (program) => program === 'ipxe') ||
  one.kind === 'http.entry' ||
  (one.kind.startsWith('tftp.') && isPart(one, 'grub', 'ipxe'));
const isScript = ({ kind }: Seen): boolean => kind === 'http.script' || kind === 'boot.decided';

const isImageFetch = (one: Seen): boolean =>
  isTftp(one, 'tftp.completed', 'image') ||
  (one.kind === 'http.served' && isSystem(one.data) && one.data.complete === true);
const isImageTrouble = (one: Seen): boolean =>
  (TFTP_TROUBLES.has(one.kind) && isPart(one, 'image')) ||
  (one.kind === 'http.served' && isSystem(one.data) && one.data.complete === false);

/** Beyond this nobody waits for one any more: an appliance that was switched off meanwhile notes no end. */
const LONGEST_TRANSFER = 30 * MINUTE;

/** Every transfer has an end that is noted, so one without an end goes on. */
function imageUnderWay(boot: readonly Seen[], now: Instant): Seen | null {
  const begun = boot.findLastIndex((one) => isTftp(one, 'tftp.begun', 'image') && now - one.at < LONGEST_TRANSFER);
  if (begun === -1) return null;
  const ended = boot.slice(begun + 1).some((one) => one.kind.startsWith('tftp.') && isPart(one, 'image'));
  return ended ? null : (boot[begun] ?? null);
}

/** Kernels and initrds lie below these two; loaders elsewhere. */
const isSystem = ({ asset }: Data): boolean => typeof asset === 'string' && /^(?:images|nixos)\//.test(asset);

const dataOf = (data: Json): Data =>
  typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as Data) : {};
