// An armed intent is consumed when its script is issued, together with the ticket in that script.

import type { Instant } from '../../domain/instant.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Change, Write } from '../../store/change.ts';
import type { NewTicket } from '../../store/session-store.ts';
import { emptyChange } from './decision.ts';
import { identityRevocation } from './identity.ts';

/**
 * Succeeds for exactly one caller: the store refuses an intent that is consumed, revoked or expired. Once an erasure can
 * begin, the identity of the node on the disks is revoked.
 */
export function consumed(machine: Machine, intent: IntentId, ticket: NewTicket | null, at: Instant): Change {
  const { lifecycle, spec } = machine;
  const identity: Write[] =
    lifecycle.state === 'releasing'
      ? [{ kind: 'revoke-identity', revocation: identityRevocation(machine, 'releasing', at, null) }]
      : [];
  return {
    ...emptyChange(machine, at),
    version: null,
    writes: [
      { kind: 'consume-intent', intent, at },
      ...(ticket === null ? [] : [{ kind: 'put-ticket', ticket } as const]),
      ...identity,
    ],
    events: [
      {
        at,
        kind: 'intent.consumed',
        actor: `machine:${spec.hostname}`,
        machine: machine.id,
        correlationId: null,
        data: { intent },
      },
    ],
  };
}
