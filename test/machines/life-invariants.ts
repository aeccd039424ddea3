// What must hold for a machine between any two steps of its lifecycle.

import type { Machine } from '../../appliance/domain/machine.ts';
import { STATES } from '../../appliance/domain/states.ts';
import { possibleEvents } from '../../appliance/machines/step.ts';

/** The first invariant that does not hold; null: all hold. `hasIdentity` null: not tracked. */
export function violatedInvariant({ lifecycle, intent }: Machine, hasIdentity: boolean | null): string | null {
  const { state, fallbackUsed } = lifecycle;
  const isArmed = intent !== null && intent.consumedAt === null && intent.revokedAt === null;
  const isWorking = state === 'deploying' || (state === 'releasing' && !fallbackUsed);
  if (isArmed && !isWorking) return `an intent is armed while ${state}`;
  if (isWorking && (intent === null || intent.revokedAt !== null)) return `${state} with a lost intent`;
  if (isWorking && intent?.kind !== (state === 'deploying' ? 'deploy' : 'erase')) return 'the wrong intent';
  if (state !== 'removed' && possibleEvents(lifecycle).length === 0) return `${state} is a dead end`;
  if ((STATES[state].deadline !== null) !== (lifecycle.deadline !== null)) return `${state}: deadline`;
  if (hasIdentity === null) return null;
  if ((state === 'active' || state === 'draining') && !hasIdentity) return `${state} without an identity`;
  if (state === 'removed' && hasIdentity) return 'a removed machine has an identity';
  return null;
}
