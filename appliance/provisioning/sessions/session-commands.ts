// The writes of service OS sessions, as changes. The store refuses a write that another caller did first.

import type { ErasedDisk } from '../../domain/erasure.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import type { ShownHardware } from '../../domain/hardware-identity.ts';
import { type Instant, SECOND } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionStep, StepProgress } from '../../domain/session.ts';
import { type CommandContext, type Decision, emptyChange } from '../../machines/commands/decision.ts';
import { erasureOverwritten, erasureRecorded } from '../../machines/commands/erasure.ts';
import { boundAtCommissioning, differingHardware } from '../../machines/commands/hardware.ts';
import { moved } from '../../machines/commands/move.ts';
import type { Change, SessionEnding, Write } from '../../store/change.ts';
import type { MachineFacts, NewTicket, Opening, Reopening } from '../../store/session-store.ts';
import type { MediumShown } from './decide-opening.ts';
import type { ResolvedOutcome } from './outcomes.ts';
import { isSessionCurrent } from './session-eligibility.ts';
import { hardwareEvent, mediumEvent, sessionAudit, sessionEvent } from './session-records.ts';

/** The machine of a report, and when it arrived. */
export interface Exchange {
  readonly at: Instant;
  readonly machine: Machine;
  readonly correlationId: string | null;
}

type Opener = EventData<'session.reopened'>;

/** What the machine showed of its medium; the salt is that of the medium. */
export interface OpenedMedium {
  readonly shows: MediumShown;
  readonly salt: string | null;
}

/** The preconditions of the writes are sufficient: sessions do not change the machine's version. */
const sessionChange = ({ machine, at }: Pick<Exchange, 'machine' | 'at'>, writes: readonly Write[]): Change => ({
  ...emptyChange(machine, at),
  version: null,
  writes,
});

export const ticketIssued = (ticket: NewTicket): Change => ({
  ...emptyChange({ id: ticket.machine, version: 0 }, ticket.madeAt),
  version: null,
  writes: [{ kind: 'put-ticket', ticket }],
});

export function sessionOpened(
  exchange: Exchange,
  session: Session,
  opening: Opening,
  said: Opener,
  found: {
    readonly firmware: string | null;
    readonly changedPcrs: readonly number[];
    readonly medium: OpenedMedium;
  },
): Change {
  const { level, shown } = opening.identity;
  const { firmware, changedPcrs, medium } = found;
  const changed = changedPcrs.length > 0;
  const writes: Write[] = [
    { kind: 'open-session', opening },
    ...hardwareWrites(exchange, session, shown, { changed, medium }),
    ...(usesMedium(medium) ? [{ kind: 'use-medium', salt: medium.salt, session: session.id } as const] : []),
  ];
  return {
    ...sessionChange(exchange, writes),
    events: [
      sessionEvent(exchange, 'session.opened', { ...said, firmware, identity: level }),
      ...(changed ? [hardwareEvent(exchange, 'hardware.measurements-changed', { pcrs: [...changedPcrs] })] : []),
      ...(medium.shows === 'missing' || medium.shows === 'unread'
        ? [mediumEvent(exchange, 'medium.unseen', { read: medium.shows === 'missing' })]
        : []),
    ],
    audit: [sessionAudit(exchange, 'opened', session, { ...said, identity: level })],
  };
}

interface UsedMedium extends OpenedMedium {
  readonly salt: string;
}

/** Its secret is used once. */
const usesMedium = (medium: OpenedMedium): medium is UsedMedium => medium.shows === 'shown' && medium.salt !== null;

/** The record of the hardware, in one write at most. */
function hardwareWrites(
  exchange: Exchange,
  session: Session,
  shown: ShownHardware,
  { changed, medium }: { readonly changed: boolean; readonly medium: OpenedMedium },
): readonly Write[] {
  const { machine, at } = exchange;
  const known = overwritten(exchange, session);
  if (changed) return differingHardware(known, shown, at).writes;
  const { bound } = known.hardware;
  // From now on the machine is expected to show the medium of each boot.
  const firstMedium = usesMedium(medium) && bound !== null && bound.medium !== true;
  if (firstMedium)
    return [{ kind: 'put-hardware', hardware: { ...known.hardware, bound: { ...bound, medium: true } } }];
  return erasureOverwritten(machine, session, at);
}

/** The machine as it is recorded once its disks may be written. */
function overwritten({ machine, at }: Exchange, session: Session): Machine {
  const [write] = erasureOverwritten(machine, session, at);
  return write?.kind === 'put-hardware' ? { ...machine, hardware: write.hardware } : machine;
}

export const sessionReopened = (exchange: Exchange, session: Session, reopening: Reopening, said: Opener): Change => ({
  ...sessionChange(exchange, [{ kind: 'reopen-session', reopening }]),
  events: [sessionEvent(exchange, 'session.reopened', said)],
  audit: [sessionAudit(exchange, 'reopened', session, said)],
});

/** Opens nothing: records only the attempt. */
export const sessionRefused = (
  exchange: Exchange,
  session: Session,
  said: Omit<EventData<'session.refused'>, 'mode'>,
): Change => ({
  ...sessionChange(exchange, []),
  events: [sessionEvent(exchange, 'session.refused', { mode: session.mode, ...said })],
  audit: [sessionAudit(exchange, 'refused', session, said)],
});

export const factsReported = (
  exchange: Exchange,
  facts: MachineFacts,
  summary: EventData<'session.facts'>,
  contradictions: EventData<'session.contradicted'>['contradictions'],
): Change => ({
  ...sessionChange(exchange, [{ kind: 'put-facts', facts }]),
  events: [
    sessionEvent(exchange, 'session.facts', summary),
    ...(contradictions.length > 0 ? [sessionEvent(exchange, 'session.contradicted', { contradictions })] : []),
  ],
});

export const stepReported = (
  exchange: Exchange,
  session: Session,
  report: { readonly step: SessionStep; readonly sequence: number; readonly news: EventData<'session.step'> | null },
): Change => {
  const { step, sequence, news } = report;
  return {
    ...sessionChange(exchange, [{ kind: 'report-step', report: { id: session.id, sequence, step } }]),
    events: [
      ...(news === null ? [] : [sessionEvent(exchange, 'session.step', news)]),
      ...movementEvents(exchange, session, step),
    ],
  };
};

/** One event when the step stops, and one when it goes on. */
function movementEvents(exchange: Exchange, session: Session, step: SessionStep): NewEvent[] {
  const before = session.last?.progress?.stalledAt ?? null;
  const after = step.progress?.stalledAt ?? null;
  if (before === null && after !== null && step.progress) return [stalledEvent(exchange, session, step, step.progress)];
  if (before === null || after !== null || step.status === 'failed') return [];
  const stoodFor = exchange.at - (session.last?.progress?.moved.at ?? exchange.at);
  const { mode, last } = session;
  return [
    sessionEvent(exchange, 'session.moving', {
      mode,
      step: last?.step ?? step.step,
      seconds: Math.round(stoodFor / SECOND),
    }),
  ];
}

/** Refused when the step has moved, ended or is already recorded as standing still. */
export const sessionStalled = (exchange: Exchange, session: Session, progress: StepProgress): Change => ({
  ...sessionChange(exchange, [
    { kind: 'mark-stalled', session: session.id, movedAt: progress.moved.at, at: exchange.at },
  ]),
  events: session.last === null ? [] : [stalledEvent(exchange, session, session.last, progress)],
});

const stalledEvent = (
  exchange: Exchange,
  { mode }: Session,
  { step, percent, at }: SessionStep,
  progress: StepProgress,
) =>
  sessionEvent(exchange, 'session.stalled', {
    mode,
    step,
    percent,
    bytes: progress.bytes,
    since: progress.moved.at,
    heard_at: at,
  });

export const fileTaken = (exchange: Exchange, session: Session, name: string): Change => ({
  ...sessionChange(exchange, [{ kind: 'take-session-file', session: session.id, name, at: exchange.at }]),
  audit: [sessionAudit(exchange, 'file', session, { file: name })],
});

/** The session has expired, or its machine has left the state that it was for. */
export const sessionOutlived = (exchange: Exchange, session: Session, end: SessionEnding): Change => ({
  ...sessionChange(exchange, [{ kind: 'end-session', session: session.id, end }]),
  events: [endedEvent(exchange, session, { ok: false, step: null, reason: end.reason })],
});

/** The end of the session and its lifecycle event, in one change. */
export function sessionConcluded(
  machine: Machine,
  session: Session,
  outcome: ResolvedOutcome,
  step: string | null,
  context: CommandContext,
  /** What the machine showed; recorded when it was commissioned. */
  shown: ShownHardware | null = null,
  /** The disks that it has erased. */
  erased: readonly ErasedDisk[] = [],
): Decision {
  const { now: at } = context;
  const { ok, reason, event } = outcome;
  const exchange = { at, machine, correlationId: session.id };
  const end: Write = {
    kind: 'end-session',
    session: session.id,
    end: { how: ok ? 'succeeded' : 'failed', at, reason },
  };
  const events = [endedEvent(exchange, session, { ok, step, reason })];
  if (event === null || !isSessionCurrent(machine, session)) {
    return { outcome: 'change', change: { ...sessionChange(exchange, [end]), events } };
  }
  const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
  const failureReason = reason ?? undefined;
  const bound = event === 'commissioned' && shown !== null ? boundAtCommissioning(machine, shown, at) : null;
  const erasure = event === 'released' && erased.length > 0 ? erasureRecorded(machine, session, erased, at) : [];
  const also = { writes: [end, ...(bound?.writes ?? []), ...erasure], events: [...events, ...(bound?.events ?? [])] };
  return moved(machine, { event, origin, failureReason, also }, context);
}

const endedEvent = (
  exchange: Exchange,
  { mode }: Session,
  said: { readonly ok: boolean; readonly step: string | null; readonly reason: string | null },
) => sessionEvent(exchange, 'session.ended', { mode, ...said });
