// Migrates a database to the schema of this code, or explains why that is not possible.

import type { Kysely } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { EngineDdl, Migration } from './migrations/migration.ts';
import type { Database } from './schema.ts';

/** Runs the missing migrations in one transaction and returns them. */
export async function migrate(
  db: Kysely<Database>,
  ddl: EngineDdl,
  migrations: readonly Migration[],
  file: string,
): Promise<readonly Migration[]> {
  return db.transaction().execute(async (trx) => {
    const applied = await appliedMigrations(trx, file);
    refuseNewer(applied, migrations, file);
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

/** For readers, which must not migrate. */
export async function requireCurrent(
  db: Kysely<Database>,
  migrations: readonly Migration[],
  file: string,
): Promise<void> {
  const applied = await appliedMigrations(db, file);
  refuseNewer(applied, migrations, file);
  const current = migrations.at(-1)?.number ?? 0;
  if ((applied ?? 0) < current) {
    throw new ColdironError(
      'store_unavailable',
      `${file} has schema ${applied ?? 0}, this version reads ${current}: start the appliance once to migrate it`,
    );
  }
}

/** The number of the last migration, or null for an empty database. */
async function appliedMigrations(db: Kysely<Database>, file: string): Promise<number | null> {
  const tables = await db.introspection.getTables();
  if (tables.length === 0) return null;
  if (!tables.some((table) => table.name === 'schema_migrations')) {
    throw new ColdironError('store_unavailable', `${file} is a database of another program: use another file`);
  }
  const row = await db
    .selectFrom('schema_migrations')
    .select((eb) => eb.fn.max('number').as('number'))
    .executeTakeFirst();
  return row?.number ?? 0;
}

function refuseNewer(applied: number | null, migrations: readonly Migration[], file: string): void {
  const latest = migrations.at(-1)?.number ?? 0;
  if (applied !== null && applied > latest) {
    throw new ColdironError(
      'store_unavailable',
      `${file} was written by a newer Coldiron (schema ${applied}, this version knows up to ${latest}): ` +
        'run that version, or restore a backup from before the upgrade',
    );
  }
}
