// Extracts from the input what was observed of each boot stage since the current work started, and whether the stage is overdue.

import type { EffectKind } from '../../domain/effect.ts';
import type { EventKind } from '../../domain/events/event-table.ts';
import { knownEvent } from '../../domain/events/known-event.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import { awaitsEnrollment, runsSession } from '../../domain/lifecycle.ts';
import type { Session } from '../../domain/session.ts';
import {
  endsImage,
  isFirmwareDiscover,
  isImageBegun,
  isImageFailure,
  isImageFetch,
  isLoaderBegun,
  isLoaderDiscover,
  isLoaderFailure,
  isLoaderFetch,
  isLoaderProbe,
  isLoaderRunning,
  isOf,
  isScript,
  isSystemDiscover,
  type Seen,
  startsWork,
  type TftpFailure,
  type TftpFileEvent,
} from './boot-events.ts';
import type { DiagnosisInput } from './facts.ts';
import { allowedTime, PROGRESS_LIMIT, STAGES, type Stage, type StageTimes } from './stages.ts';
import { type Timeline, timelineOf } from './timeline.ts';

/** The stage in which the machine is, or in which its work failed. */
export interface CurrentStage {
  readonly stage: Stage;
  readonly began: Instant;
  readonly allowed: Instant;
  readonly expected: StageTimes | null;
  readonly overdue: boolean;
}

/**
 * The last event of each kind since the work started; null: not observed. After its service OS has started, only a boot that
 * began later counts: the stages of the earlier boot succeeded.
 */
export interface Signs extends Omit<DiagnosisInput, 'events' | 'interfaces' | 'expected'> {
  /** When its current work started. */
  readonly since: Instant;
  readonly timeline: Timeline;
  /** Null: no work was ever started, or the last work succeeded. */
  readonly current: CurrentStage | null;
  /** All events since the work started, in order. */
  readonly seen: readonly Seen[];
  readonly manualStart: Seen<'bmc.absent' | 'bmc.skipped' | 'bmc.recorded'> | null;
  readonly effectFailed: Seen<'effect.failed'> | null;
  readonly bootIgnored: Seen<'bmc.boot-ignored'> | null;
  /** The last boot setting that its BMC accepted, and the last that it did not. */
  readonly bootAsked: Seen<'bmc.boot-asked'> | null;
  readonly bootRefused: Seen<'bmc.boot-refused'> | null;
  readonly firmwareDiscover: Seen<'dhcp.discover'> | null;
  readonly osDiscover: Seen<'dhcp.discover'> | null;
  readonly offer: Seen<'dhcp.offer'> | null;
  readonly request: Seen<'dhcp.request'> | null;
  readonly ack: Seen<'dhcp.ack'> | null;
  readonly nak: Seen<'dhcp.nak'> | null;
  readonly decline: Seen<'dhcp.decline'> | null;
  readonly silent: Seen<'dhcp.silent'> | null;
  /** A loader that it fetched completely. */
  readonly loader: Seen<'tftp.completed' | 'http.served'> | null;
  /** Its request for a loader over TFTP arrived, and was answered. */
  readonly loaderBegun: Seen<'tftp.begun'> | null;
  readonly loaderFailure: Seen<TftpFailure | 'http.served'> | null;
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
  /** A step of the service OS that stands still. */
  readonly stalled: Seen<'session.stalled'> | null;
  /** Its last DHCP discover, if that came from another network than the declared one. */
  readonly wrongNetwork: { readonly discover: Seen<'dhcp.discover'>; readonly declared: string } | null;
  readonly healthSilent: Seen<'health.silent'> | null;
}

/** Events that another version wrote in another shape are left out. */
export function signsOf(input: DiagnosisInput): Signs {
  const { events, interfaces, expected, ...facts } = input;
  const known: readonly Seen[] = events.flatMap((event) => knownEvent(event) ?? []);
  const since = known.findLast(startsWork)?.at ?? 0;
  const session = input.session && input.session.ticketMadeAt >= since ? input.session : null;
  const seen = known.filter(({ at }) => at >= since);
  const boot = bootOf(seen, session);
  const ofKind = <Kind extends EventKind>(...kinds: Kind[]): Seen<Kind> | null =>
    lastOf(seen, (one) => isOf(one, kinds));
  const inBoot = <Kind extends EventKind>(...kinds: Kind[]): Seen<Kind> | null =>
    lastOf(boot, (one) => isOf(one, kinds));
  const timeline = timelineOf(known);
  const transfer = imageInProgress(boot, input.now);
  const stalled = stalledStep(seen);
  return {
    ...facts,
    session,
    since,
    seen,
    timeline,
    current: currentStage(input, timeline, session, { transfer, stalled }),
    manualStart: lastOf(seen, isManualStart) ?? ofKind('bmc.recorded'),
    effectFailed: lastOf(seen, isBmcFailure),
    bootIgnored: ofKind('bmc.boot-ignored'),
    bootAsked: ofKind('bmc.boot-asked'),
    bootRefused: ofKind('bmc.boot-refused'),
    firmwareDiscover: lastOf(boot, isFirmwareDiscover),
    osDiscover: lastOf(seen, isSystemDiscover),
    offer: inBoot('dhcp.offer'),
    request: inBoot('dhcp.request'),
    ack: inBoot('dhcp.ack'),
    nak: inBoot('dhcp.nak'),
    decline: inBoot('dhcp.decline'),
    silent: inBoot('dhcp.silent'),
    loader: lastOf(boot, isLoaderFetch),
    loaderBegun: lastOf(boot, isLoaderBegun),
    loaderFailure: lastOf(boot, isLoaderFailure),
    loaderProbe: lastOf(boot, isLoaderProbe),
    loaderRuns: lastOf(boot, isLoaderRunning),
    script: lastOf(boot, isScript),
    bootFailed: inBoot('boot.failed'),
    kernel: lastOf(boot, isImageFetch),
    imageFailure: lastOf(boot, isImageFailure),
    imageInProgress: transfer,
    refused: ofKind('session.refused'),
    failedStep: lastOf(seen, isFailedStep),
    installed: lastOf(seen, isInstalled),
    enrolling: ofKind('lifecycle.enrolling'),
    restarted: lastOf(seen, isRestarted),
    loop: inBoot('dhcp.loop'),
    stalled,
    wrongNetwork: wrongNetwork(boot, interfaces),
    healthSilent: ofKind('health.silent'),
  };
}

/** In `failed` no further event is expected: the stage counts as overdue. */
function currentStage(
  input: DiagnosisInput,
  timeline: Timeline,
  session: Session | null,
  { transfer, stalled }: { readonly transfer: Seen | null; readonly stalled: Signs['stalled'] },
): CurrentStage | null {
  const { lifecycle, now, expected } = input;
  const last = timeline.visits.at(-1);
  const failed = lifecycle.state === 'failed';
  const inWork = failed ? timeline.endedIn === 'failed' : timeline.ended === null;
  if (last === undefined || !inWork || !(failed || runsSession(lifecycle.state) || awaitsEnrollment(lifecycle)))
    return null;
  const allowed = allowedTime(last.stage, expected);
  const waits = last.stage === 'work' ? workWaits(last.began, timeline, { session, stalled }, now) : null;
  const began = waits?.since ?? last.began;
  // The end of each TFTP transfer is recorded: one without an end goes on.
  const transferring = transfer !== null && last.stage === 'images';
  const overdue = failed || (!transferring && now - began > (waits?.allowed ?? allowed));
  return {
    stage: last.stage,
    began,
    allowed: waits?.allowed ?? allowed,
    expected: expected[last.stage] ?? null,
    overdue,
  };
}

/** A session waits for its next report, or, while reports repeat the same progress, for progress. */
function workWaits(
  opened: Instant,
  { steps }: Timeline,
  { session, stalled }: { readonly session: Session | null; readonly stalled: Signs['stalled'] },
  now: Instant,
): { readonly since: Instant; readonly allowed: Instant } {
  if (stalled !== null && session?.ended === null) return { since: stalled.data.since, allowed: 0 };
  const heard = session?.heardAt ?? session?.openedAt ?? opened;
  const step = steps.at(-1);
  const moved = Math.max(opened, step?.ended ?? step?.moved ?? opened);
  const silent = { since: heard, allowed: STAGES.work.allowed };
  // A session that ended, or whose rescue waits for a person, makes no progress.
  if (
    session === null ||
    session.ended !== null ||
    session.mode === 'rescue' ||
    step === undefined ||
    step.ended !== null
  )
    return silent;
  return now - moved > PROGRESS_LIMIT && now - heard <= silent.allowed
    ? { since: moved, allowed: PROGRESS_LIMIT }
    : silent;
}

const lastOf = <Kind extends EventKind>(
  among: readonly Seen[],
  matches: (one: Seen) => one is Seen<Kind>,
): Seen<Kind> | null => among.findLast(matches) ?? null;

/** The last word about the progress of a session. */
function stalledStep(seen: readonly Seen[]): Seen<'session.stalled'> | null {
  const last = lastOf(seen, (one) =>
    isOf(one, ['session.stalled', 'session.moving', 'session.opened', 'session.ended']),
  );
  return last !== null && isOf(last, ['session.stalled']) ? last : null;
}

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
  const begins = after.findIndex((one) => isLoaderDiscover(one) || isLoaderFetch(one) || isScript(one));
  return begins === -1 ? [] : after.slice(begins);
}

/** A longer transfer counts as ended: an appliance that was off at its end recorded none. */
const MAX_TRANSFER_TIME = 30 * MINUTE;

/** The end of each transfer is recorded, so a transfer without one is in progress. */
function imageInProgress(boot: readonly Seen[], now: Instant): Seen<'tftp.begun'> | null {
  const begun = lastOf(boot, isImageBegun);
  if (begun === null || now - begun.at >= MAX_TRANSFER_TIME) return null;
  return boot.slice(boot.indexOf(begun) + 1).some(endsImage) ? null : begun;
}
