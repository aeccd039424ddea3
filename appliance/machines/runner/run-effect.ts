// Runs one effect that was taken: done, retried later, or failed. The result is committed before this returns.

import type { Effect } from '../../domain/effect.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { backOff } from '../back-off.ts';
import {
  type EffectFailure,
  effectDone,
  effectFailed,
  effectSuperseded,
  mayRetry,
} from '../commands/effect-results.ts';
import { EffectError, type EffectHandlers } from '../effects/handler.ts';
import type { Decide, MachineCommands } from '../execute.ts';
import { APPLIANCE } from '../record.ts';
import { effectStillApplies } from '../step.ts';

export interface EffectRunSettings {
  readonly store: Pick<Store, 'machine'>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly handlers: EffectHandlers;
  readonly log: { warn(fields: object, message: string): void };
  /** Repeats while the store is unavailable: the handler has run, and its result must not be lost. */
  readonly persistently: <T>(verb: () => Promise<T>) => Promise<T>;
}

export async function runEffect(settings: EffectRunSettings, effect: Effect): Promise<void> {
  const { store, handlers, persistently } = settings;
  const machine = await persistently(() => store.machine(effect.machine));
  if (!machine) throw new ColdironError('not_found', `the machine of effect ${effect.id} does not exist`);
  const visit = machine.lifecycle;
  if (!effectStillApplies(effect.kind, visit)) {
    return settle(settings, effect, (now, context) => effectSuperseded(now, effect, context));
  }
  let decide: Decide;
  try {
    const outcome = await handlers[effect.kind]({ effect, machine, correlationId: effect.correlationId });
    decide = (now, context) => effectDone(now, effect, outcome, visit, context);
  } catch (error) {
    const failure = failureOf(error);
    warn(settings, effect, machine, failure);
    decide = (now, context) => effectFailed(now, effect, failure, visit, context);
  }
  await settle(settings, effect, decide);
}

async function settle({ commands, persistently }: EffectRunSettings, effect: Effect, decide: Decide): Promise<void> {
  const origin = { actor: APPLIANCE, correlationId: effect.correlationId };
  const command = { machine: effect.machine, name: `effect:${effect.kind}`, input: { effect: effect.id }, origin };
  const executed = await persistently(() => commands.execute(command, decide));
  if (executed.outcome === 'lost') throw new ColdironError('conflict', `effect ${effect.id}: ${executed.by.reason}`);
}

const failureOf = (error: unknown): EffectFailure => ({
  reason: error instanceof Error ? error.message : String(error),
  hopeless: error instanceof EffectError && !error.retryable,
});

function warn({ log }: EffectRunSettings, effect: Effect, { spec }: Machine, failure: EffectFailure): void {
  const { kind, attempts } = effect;
  const fields = { machine: spec.hostname, effect: kind, attempts, reason: failure.reason };
  if (mayRetry(effect, failure)) {
    log.warn({ ...fields, wait_ms: backOff(attempts) }, 'effect failed, will be retried');
  } else log.warn(fields, 'effect failed permanently');
}
