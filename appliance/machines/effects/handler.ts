// The contract between the runner and effect handlers.

import type { Effect, EffectKind } from '../../domain/effect.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine.ts';
import type { LifecycleEvent } from '../transitions.ts';

export interface EffectTask {
  readonly effect: Effect;
  /** Its current state, not the one when the effect was written. */
  readonly machine: Machine;
  readonly correlationId: string | null;
}

export interface EffectOutcome {
  /** Committed together with the end of the effect. */
  readonly events: readonly NewEvent[];
  /** The transition that follows from the effect, if any. */
  readonly leadsTo?: { readonly event: LifecycleEvent; readonly note: string };
}

/**
 * Runs one effect. It may be called again for an effect that already ran (the process died before the result was on
 * disk), must then have the same result, and must time out by itself on a peer that does not answer.
 * An error is retried later unless it is an EffectError that says otherwise.
 */
export type EffectHandler = (task: EffectTask) => Promise<EffectOutcome>;

export type EffectHandlers = Readonly<Record<EffectKind, EffectHandler>>;

export class EffectError extends Error {
  readonly retryable: boolean;

  constructor(message: string, options: { retryable: boolean }) {
    super(message);
    this.name = 'EffectError';
    this.retryable = options.retryable;
  }
}
