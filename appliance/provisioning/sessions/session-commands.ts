// The writes of service OS sessions, as changes. The store refuses a write that another caller did first.

import type { EventData } from '../../domain/events/event-table.ts';
import type { ShownHardware } from '../../domain/hardware-identity.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionStep } from '../../domain/session.ts';
import { type CommandContext, type Decision, emptyChange } from '../../machines/commands/decision.ts';
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
    ...(changed ? differingHardware(exchange.machine, shown, exchange.at).writes : []),
    ...mediumWrites(exchange.machine, session, medium),
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

/** Its secret is used once. From now on the machine is expected to show the medium of each boot. */
function mediumWrites({ hardware }: Machine, { id }: Session, { shows, salt }: OpenedMedium): Write[] {
  if (shows !== 'shown' || salt === null) return [];
  const use: Write = { kind: 'use-medium', salt, session: id };
  const { bound } = hardware;
  if (bound === null || bound.medium === true) return [use];
  return [use, { kind: 'put-hardware', hardware: { ...hardware, bound: { ...bound, medium: true } } }];
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
    events: news === null ? [] : [sessionEvent(exchange, 'session.step', news)],
  };
};

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
  const also = { writes: [end, ...(bound?.writes ?? [])], events: [...events, ...(bound?.events ?? [])] };
  return moved(machine, { event, origin, failureReason, also }, context);
}

const endedEvent = (
  exchange: Exchange,
  { mode }: Session,
  said: { readonly ok: boolean; readonly step: string | null; readonly reason: string | null },
) => sessionEvent(exchange, 'session.ended', { mode, ...said });
