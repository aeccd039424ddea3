// Revokes all credentials of a machine, in the change that ends its identity.

import { type NewEvent, newEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { LifecycleState } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import type { IdentityRevocation } from '../../store/change.ts';
import { APPLIANCE } from '../record.ts';

export function identityRevocation(
  { id: machine }: Machine,
  state: LifecycleState,
  at: Instant,
  correlationId: string | null,
): IdentityRevocation {
  const event = (kind: 'identity.revoked' | 'enrollment.revoked' | 'health.unknown'): NewEvent =>
    newEvent({ at, actor: APPLIANCE, machine, correlationId }, kind, { state });
  return {
    at,
    because: `the node is ${state}`,
    origin: { actor: APPLIANCE, correlationId },
    event: event('enrollment.revoked'),
    tokenEvent: event('identity.revoked'),
    // Later reports do not come from this node.
    healthEvent: event('health.unknown'),
  };
}
