import type { Kysely, Selectable } from 'kysely';
import type { Allocation, AllocationId } from '../../domain/allocation.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { AllocationQuery, AllocationStore, StoredAllocation } from '../allocation-store.ts';
import type { AllocationTable, Database } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export const allocationVerbs = (db: Kysely<Database>): AllocationStore => ({
  allocation: (id) => readAllocation(db, id),
  allocations: (query) => readAllocations(db, query),
});

async function readAllocation(db: Reader, id: AllocationId): Promise<StoredAllocation | null> {
  const row = await db.selectFrom('allocations').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? toStored(row) : null;
}

async function readAllocations(
  db: Reader,
  { machine, user, states, limit }: AllocationQuery,
): Promise<StoredAllocation[]> {
  let query = db.selectFrom('allocations').selectAll();
  if (machine !== undefined) query = query.where('machine', '=', machine);
  if (user !== undefined) query = query.where('username', '=', user);
  if (states !== undefined) query = query.where('state', 'in', [...states]);
  const rows = await query.orderBy('requested_at', 'desc').orderBy('id').limit(limit).execute();
  return rows.map(toStored);
}

/** The machine's version, which the change names, protects it from two writers. */
export async function writeAllocation(trx: Writer, machine: MachineId, allocation: Allocation): Promise<void> {
  const changing = { state: allocation.state, value: JSON.stringify(allocation) };
  await trx
    .insertInto('allocations')
    .values({
      id: allocation.id,
      machine,
      username: allocation.user,
      requested_at: allocation.requestedAt,
      ...changing,
    })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(changing))
    .execute();
}

/** The JSON is cast: only `writeAllocation` writes it. */
const toStored = (row: Selectable<AllocationTable>): StoredAllocation => ({
  machine: mustParse(parseMachineId(row.machine)),
  allocation: JSON.parse(row.value) as Allocation,
});
