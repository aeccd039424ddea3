// An armed intent is used up the moment its script is given out, together with the ticket that the script carries.

import type { NewEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Machine } from '../../domain/machine.ts';
import type { NewTicket } from '../../store/session-store.ts';
import type { Store } from '../../store/store.ts';

/** True for exactly one caller. */
export const intentConsumer =
  (store: Pick<Store, 'consumeIntent'>, refreshFleet: () => Promise<void>, now: () => Instant) =>
  async (intent: IntentId, machine: Machine, ticket: NewTicket | null): Promise<boolean> => {
    const at = now();
    const event: NewEvent = {
      at,
      kind: 'intent.consumed',
      actor: `machine:${machine.spec.hostname}`,
      machine: machine.id,
      correlationId: null,
      data: { intent },
    };
    const consumed = await store.consumeIntent(intent, at, event, ticket);
    await refreshFleet();
    return consumed;
  };
