// Brings a database to the schema of this code, or says why that is not possible.

import type { Kysely } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { EngineDdl, Migration } from './migrations/migration.ts';
import type { Database } from './schema.ts';

/** Runs what is missing, all in one transaction. Returns the steps that were carried out. */
export async function migrate(
  db: Kysely<Database>,
  ddl: EngineDdl,
  migrations: readonly Migration[],
  place: string,
): Promise<readonly Migration[]> {
  return db.transaction().execute(async (trx) => {
    const applied = await appliedMigrations(trx, place);
    refuseNewer(applied, migrations, place);
    if (applied === null) {
      await trx.schema
        .createTable('schema_migrations')
        .addColumn('number', 'integer', (column) => column.primaryKey())
        .addColumn('name', 'text', (column) => column.notNull())
        .execute();
    }
    const missing = migrations.filter((migration) => migration.number > (applied ?? 0));
    for (const migration of missing) {
      await migration.up(trx as unknown as Kysely<unknown>, ddl);
      await trx.insertInto('schema_migrations').values({ number: migration.number, name: migration.name }).execute();
    }
    return missing;
  });
}

/** For readers, which may not bring it there themselves. */
export async function requireCurrent(
  db: Kysely<Database>,
  migrations: readonly Migration[],
  place: string,
): Promise<void> {
  const applied = await appliedMigrations(db, place);
  refuseNewer(applied, migrations, place);
  const current = migrations.at(-1)?.number ?? 0;
  if ((applied ?? 0) < current) {
    throw new ColdironError(
      'store_unavailable',
      `${place} has schema ${applied ?? 0}, this version reads ${current}: start the appliance once to bring it up to date`,
    );
  }
}

/** The number of the last step, or null for an empty database. */
async function appliedMigrations(db: Kysely<Database>, place: string): Promise<number | null> {
  const tables = await db.introspection.getTables();
  if (tables.length === 0) return null;
  if (!tables.some((table) => table.name === 'schema_migrations')) {
    throw new ColdironError('store_unavailable', `${place} is a database of another program: name another file`);
  }
  const row = await db
    .selectFrom('schema_migrations')
    .select((eb) => eb.fn.max('number').as('number'))
    .executeTakeFirst();
  return row?.number ?? 0;
}

function refuseNewer(applied: number | null, migrations: readonly Migration[], place: string): void {
  const known = migrations.at(-1)?.number ?? 0;
  if (applied !== null && applied > known) {
    throw new ColdironError(
      'store_unavailable',
      `${place} was written by a newer Coldiron (schema ${applied}, this version knows up to ${known}): ` +
        'run that version, or restore a backup from before the upgrade',
    );
  }
}
