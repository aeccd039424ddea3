// One effect that was taken: done, tried again later, or given up. Whatever it is, it is on disk before this ends.

import type { Effect } from '../../domain/effect.ts';
import { type NewEvent, newEvent } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import type { Machine } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import type { Store } from '../../store/store.ts';
import { backOff, MAX_ATTEMPTS } from '../back-off.ts';
import { EffectError, type EffectHandlers, type EffectOutcome } from '../effects/handler.ts';
import { APPLIANCE } from '../record.ts';
import { isRevocation, stillWanted } from '../step.ts';
import type { LifecycleEvent } from '../transitions.ts';
import { type ApplySettings, applyEvent } from './apply-event.ts';

export interface EffectRunSettings extends ApplySettings {
  readonly store: ApplySettings['store'] & Pick<Store, 'finishEffect' | 'retryEffect' | 'failEffect'>;
  readonly handlers: EffectHandlers;
  readonly log: { warn(fields: object, message: string): void };
  /** Repeats a store verb while the store is unavailable: the handler has done its work, and that must not be lost. */
  readonly persistently: <T>(verb: () => Promise<T>) => Promise<T>;
}

export async function runEffect(settings: EffectRunSettings, effect: Effect): Promise<void> {
  const { store, persistently } = settings;
  const machine = await persistently(() => store.machine(effect.machine));
  if (!machine) return persistently(() => store.failEffect(effect.id, 'its machine does not exist', []));
  if (!stillWanted(effect.kind, machine.lifecycle)) {
    const superseded = effectEvent(settings, effect, 'effect.superseded', {
      effect: effect.kind,
      state: machine.lifecycle.state,
    });
    return persistently(() => store.finishEffect(effect.id, [superseded]));
  }

  let outcome: EffectOutcome;
  try {
    outcome = await settings.handlers[effect.kind]({ effect, machine, correlationId: effect.correlationId });
  } catch (error) {
    return retryOrGiveUp(settings, effect, machine, error);
  }
  // The machine moves first: should the process die in between, the effect is found superseded, and not undone.
  if (outcome.leadsTo) await moveOn(settings, effect, machine, outcome.leadsTo.event, { note: outcome.leadsTo.note });
  await persistently(() => store.finishEffect(effect.id, outcome.events));
}

async function retryOrGiveUp(
  settings: EffectRunSettings,
  effect: Effect,
  machine: Machine,
  error: unknown,
): Promise<void> {
  const { store, persistently } = settings;
  const reason = error instanceof Error ? error.message : String(error);
  const fields = { machine: machine.spec.hostname, effect: effect.kind, attempts: effect.attempts, reason };
  const hopeless = error instanceof EffectError && !error.retryable;
  if (!hopeless && effect.attempts < MAX_ATTEMPTS) {
    const wait = backOff(effect.attempts);
    settings.log.warn({ ...fields, wait_ms: wait }, 'effect failed, will be tried again');
    return persistently(() => store.retryEffect(effect.id, settings.now() + wait, reason));
  }
  settings.log.warn(fields, 'effect failed for good');
  const event = STATES[machine.lifecycle.state].ifEffectFails;
  if (event && !isRevocation(effect.kind)) {
    const failureReason = hopeless
      ? `${effect.kind}: ${reason}`
      : `${effect.kind}, ${effect.attempts} tries: ${reason}`;
    await moveOn(settings, effect, machine, event, { failureReason });
  }
  const failed = effectEvent(settings, effect, 'effect.failed', {
    effect: effect.kind,
    attempts: effect.attempts,
    reason,
  });
  return persistently(() => store.failEffect(effect.id, reason, [failed]));
}

/** Only while the machine is still in the stay that the effect was done for. */
const moveOn = (
  settings: EffectRunSettings,
  effect: Effect,
  machine: Machine,
  event: LifecycleEvent,
  words: { readonly note?: string; readonly failureReason?: string },
): Promise<unknown> =>
  settings.persistently(() =>
    applyEvent(
      settings,
      machine.id,
      event,
      { actor: APPLIANCE, correlationId: effect.correlationId, ...words },
      ({ lifecycle }) => lifecycle.state === machine.lifecycle.state && lifecycle.since === machine.lifecycle.since,
    ),
  );

const effectEvent = <Kind extends 'effect.superseded' | 'effect.failed'>(
  settings: EffectRunSettings,
  effect: Effect,
  kind: Kind,
  data: EventData<Kind>,
): NewEvent =>
  newEvent(
    { at: settings.now(), actor: APPLIANCE, machine: effect.machine, correlationId: effect.correlationId },
    kind,
    data,
  );
