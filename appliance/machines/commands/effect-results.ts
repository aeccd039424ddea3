// The result of an effect: its end, and the transition that follows, in one change.

import type { Effect } from '../../domain/effect.ts';
import { type NewEvent, newEvent } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Lifecycle } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import type { Change, Write } from '../../store/change.ts';
import { backOff, MAX_ATTEMPTS } from '../back-off.ts';
import type { EffectOutcome } from '../effects/handler.ts';
import { APPLIANCE } from '../record.ts';
import { type CommandContext, type Decision, emptyChange } from './decision.ts';
import { type Move, moved } from './move.ts';

/** The state visit that the effect was run for. */
export type Visit = Pick<Lifecycle, 'state' | 'since'>;

/** The machine has left every state that the effect applies to. */
export function effectSuperseded(machine: Machine, effect: Effect, { now }: CommandContext): Decision {
  const events = [
    effectEvent(effect, now, 'effect.superseded', { effect: effect.kind, state: machine.lifecycle.state }),
  ];
  return settled(machine, now, { kind: 'finish-effect', effect: effect.id }, events);
}

export function effectDone(
  machine: Machine,
  effect: Effect,
  { events, leadsTo }: EffectOutcome,
  visit: Visit,
  context: CommandContext,
): Decision {
  const end: Write = { kind: 'finish-effect', effect: effect.id };
  const move = leadsTo && { event: leadsTo.event, origin: { ...originOf(effect), note: leadsTo.note } };
  return movedOrSettled(machine, end, events, visit, move, context);
}

export interface EffectFailure {
  readonly reason: string;
  /** A retry cannot help. */
  readonly hopeless: boolean;
}

export const mayRetry = ({ attempts }: Effect, { hopeless }: EffectFailure): boolean =>
  !hopeless && attempts < MAX_ATTEMPTS;

export function effectFailed(
  machine: Machine,
  effect: Effect,
  failure: EffectFailure,
  visit: Visit,
  context: CommandContext,
): Decision {
  const { now } = context;
  const { reason, hopeless } = failure;
  const { attempts, kind } = effect;
  if (mayRetry(effect, failure)) {
    const notBefore = now + backOff(attempts);
    return settled(machine, now, { kind: 'retry-effect', effect: effect.id, notBefore, error: reason }, []);
  }
  const end: Write = { kind: 'fail-effect', effect: effect.id, error: reason };
  const events = [effectEvent(effect, now, 'effect.failed', { effect: kind, attempts, reason })];
  const event = STATES[visit.state].ifEffectFails;
  const failureReason = hopeless ? `${kind}: ${reason}` : `${kind}, ${attempts} attempts: ${reason}`;
  const move = event === null ? undefined : { event, origin: originOf(effect), failureReason };
  return movedOrSettled(machine, end, events, visit, move, context);
}

/** Moves the machine only if it is still in the visit that the effect was run for. */
function movedOrSettled(
  machine: Machine,
  end: Write,
  events: readonly NewEvent[],
  { state, since }: Visit,
  move: Omit<Move, 'also'> | undefined,
  context: CommandContext,
): Decision {
  const { lifecycle } = machine;
  if (move && lifecycle.state === state && lifecycle.since === since) {
    const decision = moved(machine, { ...move, also: { writes: [end] } }, context);
    if (decision.outcome === 'change') {
      return { ...decision, change: { ...decision.change, events: [...decision.change.events, ...events] } };
    }
  }
  return settled(machine, context.now, end, events);
}

const settled = (machine: Machine, at: number, end: Write, events: readonly NewEvent[]): Decision => {
  const change: Change = { ...emptyChange(machine, at), version: null, writes: [end], events };
  return { outcome: 'change', change };
};

const originOf = ({ correlationId }: Effect) => ({ actor: APPLIANCE, correlationId });

const effectEvent = <Kind extends 'effect.superseded' | 'effect.failed'>(
  { machine, correlationId }: Effect,
  at: Instant,
  kind: Kind,
  data: EventData<Kind>,
): NewEvent => newEvent({ at, actor: APPLIANCE, machine, correlationId }, kind, data);
