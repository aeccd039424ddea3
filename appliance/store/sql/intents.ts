import type { Instant } from '../../domain/instant.ts';
import type { ArmedIntent, IntentId } from '../../domain/intent.ts';
import type { MachineId } from '../../domain/machine.ts';
import { toIntentRow } from './intent-rows.ts';
import type { Writer } from './transaction.ts';

/** Does not update the machine's row, like all functions here: the commit updates it once. */
export async function armIntent(trx: Writer, intent: ArmedIntent): Promise<void> {
  await closeIntents(trx, intent.machine, intent.armedAt);
  await trx.insertInto('intents').values(toIntentRow(intent)).execute();
}

/** One conditional update: exactly one of several concurrent callers changes the row. */
export async function consumeIntent(trx: Writer, machine: MachineId, id: IntentId, at: Instant): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('intents')
    .set({ consumed_at: at })
    .where('id', '=', id)
    .where('machine', '=', machine)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', at)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Returns how many were open. */
export async function closeIntents(trx: Writer, machine: MachineId, at: Instant): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('intents')
    .set({ revoked_at: at })
    .where('machine', '=', machine)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
