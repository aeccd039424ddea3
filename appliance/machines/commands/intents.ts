// An armed intent is consumed the moment its script is given out, together with the ticket that the script carries.

import type { Instant } from '../../domain/instant.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Change, Write } from '../../store/change.ts';
import type { NewTicket } from '../../store/session-store.ts';
import { emptyChange } from './decision.ts';
import { identityRevocation } from './identity.ts';

/**
 * For exactly one caller: the store refuses it for an intent that is used, revoked or expired. From the moment an erasure can
 * begin, the node that was on the disks is nobody's identity any more.
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
