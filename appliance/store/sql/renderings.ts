import type { Kysely } from 'kysely';
import type { NewEvent } from '../../domain/event.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { DeliveredRendering, RenderingStore } from '../rendering-store.ts';
import { insertEvents } from './events.ts';
import { requireMachine } from './machines.ts';
import type { Database } from './schema.ts';
import { type Reader, type Writer, writing } from './transaction.ts';

export const renderingVerbs = (db: Kysely<Database>): RenderingStore => ({
  putRendering: (rendering, event) => writing(db, (trx) => writeRendering(trx, rendering, event)),
  renderingOf: (machine) => readRendering(db, machine),
});

async function writeRendering(trx: Writer, rendering: DeliveredRendering, event: NewEvent): Promise<void> {
  const { machine, at, by, inventoryRevision } = rendering;
  await requireMachine(trx, machine);
  const row = { at, given_by: by, inventory_revision: inventoryRevision, files: JSON.stringify(rendering.files) };
  await trx
    .insertInto('renderings')
    .values({ machine, ...row })
    .onConflict((conflict) => conflict.column('machine').doUpdateSet(row))
    .execute();
  await insertEvents(trx, [event]);
}

async function readRendering(db: Reader, machine: MachineId): Promise<DeliveredRendering | null> {
  const row = await db.selectFrom('renderings').selectAll().where('machine', '=', machine).executeTakeFirst();
  if (!row) return null;
  const { at, given_by: by, inventory_revision: inventoryRevision, files } = row;
  return { machine, at, by, inventoryRevision, files: JSON.parse(files) };
}
