// How many effects and tasks wait, and how long the oldest has waited.

import type { Instant } from '../../domain/instant.ts';
import type { Queue, Store } from '../store.ts';
import type { Reader } from './transaction.ts';

export async function readQueues(db: Reader, now: Instant): ReturnType<Store['queues']> {
  const effects = await db
    .selectFrom('effects')
    .select((eb) => [eb.fn.countAll<number>().as('waiting'), eb.fn.min('not_before').as('since')])
    .where('state', '=', 'pending')
    .where('not_before', '<=', now)
    .executeTakeFirst();
  const tasks = await db
    .selectFrom('tasks')
    .select((eb) => [eb.fn.countAll<number>().as('waiting'), eb.fn.min('created_at').as('since')])
    .where('state', '=', 'queued')
    .executeTakeFirst();
  return { effects: queueOf(effects), tasks: queueOf(tasks) };
}

const queueOf = (row: { waiting: number | bigint | string; since: Instant | null } | undefined): Queue => ({
  waiting: Number(row?.waiting ?? 0),
  since: row?.since ?? null,
});
