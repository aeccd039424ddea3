import type { Cluster, RoceAssignment } from '../../domain/catalogue.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Event } from '../../domain/event.ts';
import type { CatalogueKind, Inventory } from '../../domain/inventory.ts';
import type { Machine } from '../../domain/machine.ts';
import { completeNetwork, completeProfile, completeSite, completeSku } from '../../domain/stored-inventory.ts';
import type { InventoryWrites } from '../store.ts';
import { insertAudit } from './audit.ts';
import { inChunks, oneByOne } from './chunks.ts';
import { dropClaims, takeClaims } from './claims.ts';
import { advance, readCounters, setCounter } from './counters.ts';
import { insertEvents } from './events.ts';
import { lifecycleColumns, refusedWrite, selectMachines, specColumns, toMachine } from './machines.ts';
import { replaceProposal } from './proposals.ts';
import type { Reader, Writer } from './transaction.ts';
import { freeRemoved, writeLifecycle } from './transition.ts';

export async function readInventory(db: Reader): Promise<Inventory> {
  const counters = await readCounters(db);
  const catalogue = await db.selectFrom('catalogue').selectAll().orderBy('name').execute();
  const rows = await selectMachines(db).where('machines.state', '<>', 'removed').orderBy('machines.hostname').execute();
  const removed = await selectMachines(db)
    .where('machines.state', '=', 'removed')
    .orderBy('machines.revision')
    .execute();
  const values = <T>(kind: CatalogueKind): T[] =>
    catalogue.filter((row) => row.kind === kind).map((row) => JSON.parse(row.value) as T);
  return {
    sites: values<Parameters<typeof completeSite>[0]>('site').map(completeSite),
    networks: values<Parameters<typeof completeNetwork>[0]>('network').map(completeNetwork),
    skus: values<Parameters<typeof completeSku>[0]>('sku').map(completeSku),
    profiles: values<Parameters<typeof completeProfile>[0]>('profile').map(completeProfile),
    clusters: values<Cluster>('cluster'),
    roce: values<RoceAssignment>('roce'),
    machines: rows.map(toMachine),
    removed: removed.map(toMachine),
    sources: new Map(catalogue.map(({ kind, name, source }) => [`${kind}/${name}`, source])),
    declaredRevision: counters.declared,
    revision: counters.revision,
  };
}

export async function readChanges(
  db: Reader,
  after: number,
): Promise<{ revision: number; declaredRevision: number; catalogueChanged: boolean; machines: Machine[] }> {
  const counters = await readCounters(db);
  const rows = await selectMachines(db)
    .where('machines.revision', '>', after)
    .orderBy('machines.revision')
    .orderBy('machines.hostname')
    .execute();
  return {
    revision: counters.revision,
    declaredRevision: counters.declared,
    catalogueChanged: counters.catalogue > after,
    machines: rows.map(toMachine),
  };
}

export async function writeInventory(
  trx: Writer,
  writes: InventoryWrites,
): Promise<{ revision: number; declaredRevision: number; events: Event[] }> {
  const counters = await readCounters(trx);
  if (counters.declared !== writes.declaredRevision) {
    throw new ColdironError(
      'version_conflict',
      `the inventory has changed: it is at revision ${counters.declared}, not ${writes.declaredRevision}`,
    );
  }
  const changesCatalogue = writes.putCatalogue.length + writes.dropCatalogue.length > 0;
  const changesMachines =
    writes.createMachines.length + writes.changeMachines.length + writes.removeMachines.length > 0;
  let { revision, declared } = counters;
  if (changesCatalogue || changesMachines) {
    revision = await advance(trx, 'revision');
    declared = await advance(trx, 'declared');
  }
  if (changesCatalogue) {
    await writeCatalogue(trx, writes);
    await setCounter(trx, 'catalogue', revision);
  }
  await writeMachines(trx, writes, revision);
  await oneByOne(writes.proposals ?? [], (proposal) => replaceProposal(trx, proposal));
  const events = await insertEvents(trx, writes.events);
  await insertAudit(trx, writes.audit);
  return { revision, declaredRevision: declared, events };
}

async function writeCatalogue(trx: Writer, writes: InventoryWrites): Promise<void> {
  for (const { kind, name } of writes.dropCatalogue) {
    await trx.deleteFrom('catalogue').where('kind', '=', kind).where('name', '=', name).execute();
  }
  const rows = writes.putCatalogue.map((put) => ({ ...put, value: JSON.stringify(put.value) }));
  await inChunks(rows, (chunk) =>
    trx
      .insertInto('catalogue')
      .values(chunk)
      .onConflict((conflict) =>
        conflict.columns(['kind', 'name']).doUpdateSet((eb) => ({
          source: eb.ref('excluded.source'),
          value: eb.ref('excluded.value'),
        })),
      )
      .execute(),
  );
}

/** All old claims are deleted before any new one is inserted, so that machines may swap values. */
async function writeMachines(trx: Writer, writes: InventoryWrites, revision: number): Promise<void> {
  const { createMachines, changeMachines, removeMachines } = writes;
  await oneByOne(removeMachines, async (removal) => {
    await writeLifecycle(trx, removal, revision);
    await freeRemoved(trx, removal.id, removal.lifecycle.since);
  });
  await dropClaims(
    trx,
    changeMachines.map(({ id }) => id),
  );
  await oneByOne(changeMachines, (change) => writeSpec(trx, change, revision));
  await insertMachines(trx, createMachines, revision);
  await takeClaims(trx, [...changeMachines, ...createMachines]);
}

async function insertMachines(
  trx: Writer,
  machines: InventoryWrites['createMachines'],
  revision: number,
): Promise<void> {
  await inChunks(machines, (chunk) =>
    trx
      .insertInto('machines')
      .values(
        chunk.map(({ id, spec, source, lifecycle }) => ({
          id,
          source,
          ...specColumns(spec),
          ...lifecycleColumns(lifecycle),
          health: 'unknown' as const,
          version: 1,
          revision,
        })),
      )
      .execute(),
  );
}

async function writeSpec(
  trx: Writer,
  change: InventoryWrites['changeMachines'][number],
  revision: number,
): Promise<void> {
  const { id, version, spec, source, lifecycle } = change;
  const { numUpdatedRows } = await trx
    .updateTable('machines')
    .set({
      ...specColumns(spec),
      ...(lifecycle && lifecycleColumns(lifecycle)),
      source,
      version: version + 1,
      revision,
    })
    .where('id', '=', id)
    .where('version', '=', version)
    .where('state', '<>', 'removed')
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw await refusedWrite(trx, id, version);
}
