// The contract between the runner and whoever does an effect.

import type { Effect, EffectKind } from '../../domain/effect.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine.ts';
import type { LifecycleEvent } from '../transitions.ts';

export interface EffectTask {
  readonly effect: Effect;
  /** As it is now, not as it was when the effect was written down. */
  readonly machine: Machine;
  readonly correlationId: string | null;
}

export interface EffectOutcome {
  /** Written together with the end of the effect. */
  readonly events: readonly NewEvent[];
  /** What the effect brought about, when that moves the machine on. */
  readonly leadsTo?: { readonly event: LifecycleEvent; readonly note: string };
}

/**
 * Does one effect. It may be called again for an effect that was done already (the process died before that was on
 * disk), must come to the same then, and has to give up by itself on a peer that does not answer.
 * An error is tried again later unless it is an EffectError that says otherwise.
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
