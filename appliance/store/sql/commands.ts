import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import { completeSpec } from '../../domain/stored-inventory.ts';
import type { Change, CommandId, RecordedCommand } from '../change.ts';
import type { Reader, Writer } from './transaction.ts';

export async function readCommand(db: Reader, id: CommandId): Promise<RecordedCommand | null> {
  const row = await db.selectFrom('commands').select(['digest', 'result']).where('id', '=', id).executeTakeFirst();
  if (!row) return null;
  const machine = JSON.parse(row.result) as Machine;
  return { digest: row.digest, machine: { ...machine, spec: completeSpec(machine.spec) } };
}

export async function insertCommand(
  trx: Writer,
  { id, digest }: NonNullable<Change['command']>,
  machine: Machine,
  at: Instant,
): Promise<void> {
  await trx
    .insertInto('commands')
    .values({ id, digest, machine: machine.id, result: JSON.stringify(machine), at })
    .execute();
}

export async function deleteCommandsBefore(trx: Writer, before: Instant): Promise<number> {
  const { numDeletedRows } = await trx.deleteFrom('commands').where('at', '<', before).executeTakeFirst();
  return Number(numDeletedRows);
}
