import BetterSqlite3 from 'better-sqlite3';
import { Kysely, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { migrate } from '../../appliance/store/sql/migrate.ts';
import type { EngineDdl, Migration } from '../../appliance/store/sql/migrations/migration.ts';
import { MIGRATIONS } from '../../appliance/store/sql/migrations/registry.ts';
import type { Database } from '../../appliance/store/sql/schema.ts';
import { sqliteDialect } from '../../appliance/store/sqlite/sqlite-driver.ts';

const NO_DDL: EngineDdl = { numberKey: 'integer', forbid: async () => undefined };

const creating = (number: number, table: string): Migration => ({
  number,
  name: `create-${table}`,
  async up(db) {
    await sql`create table ${sql.table(table)} (id integer)`.execute(db);
  },
});

describe('the migrations', () => {
  let database: BetterSqlite3.Database;
  let db: Kysely<Database>;
  beforeEach(() => {
    database = new BetterSqlite3(':memory:');
    db = new Kysely<Database>({ dialect: sqliteDialect(database) });
  });
  afterEach(() => database.close());

  const run = (...migrations: Migration[]) => migrate(db, NO_DDL, migrations, 'test.db');
  const tables = (): unknown[] =>
    database.prepare("select name from sqlite_master where type = 'table' order by name").pluck().all();

  it('are numbered from 1 without gaps', () => {
    expect(MIGRATIONS.map(({ number }) => number)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  });

  it('run in order, each once, also when they arrive in a later release', async () => {
    const [apples, pears] = [creating(1, 'apples'), creating(2, 'pears')];
    expect(await run(apples)).toEqual([apples]);
    expect(await run(apples, pears)).toEqual([pears]);
    expect(await run(apples, pears)).toEqual([]);
    expect(tables()).toEqual(['apples', 'pears', 'schema_migrations']);
  });

  it('leave nothing behind when one of them fails', async () => {
    const failing: Migration = { number: 2, name: 'fails', up: () => Promise.reject(new Error('no')) };
    await expect(run(creating(1, 'apples'), failing)).rejects.toThrow('no');
    expect(tables()).toEqual([]);
    expect(await run(creating(1, 'apples'))).toHaveLength(1);
  });

  it('refuse a database that knows later ones', async () => {
    await run(creating(1, 'apples'), creating(2, 'pears'));
    await expect(run(creating(1, 'apples'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(
        'test.db was written by a newer Coldiron (schema 2, this version knows up to 1)',
      ),
    });
  });
});
