// Consumes an armed intent when its script is issued.

import type { Instant } from '../../domain/instant.ts';
import type { IntentId } from '../../domain/intent.ts';
import type { Machine } from '../../domain/machine.ts';
import { consumed } from '../../machines/commands/intents.ts';
import type { NewTicket } from '../../store/session-store.ts';
import type { Store } from '../../store/store.ts';

/** Resolves to true for exactly one caller. */
export const intentConsumer =
  (store: Pick<Store, 'commit'>, now: () => Instant) =>
  async (intent: IntentId, machine: Machine, ticket: NewTicket | null): Promise<boolean> =>
    (await store.commit(consumed(machine, intent, ticket, now()))).outcome === 'committed';
