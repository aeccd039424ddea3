// The end of everything that a machine was trusted with, as part of the change that ends it.

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
    // Whatever is heard from now on, it is not this node.
    healthEvent: event('health.unknown'),
  };
}
