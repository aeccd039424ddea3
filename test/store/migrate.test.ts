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

  it('run in order, each once, also when a later release adds them', async () => {
    const [apples, pears] = [creating(1, 'apples'), creating(2, 'pears')];
    expect(await run(apples)).toEqual([apples]);
    expect(await run(apples, pears)).toEqual([pears]);
    expect(await run(apples, pears)).toEqual([]);
    expect(tables()).toEqual(['apples', 'pears', 'schema_migrations']);
  });

  it('change nothing when one of them fails', async () => {
    const failing: Migration = { number: 2, name: 'fails', up: () => Promise.reject(new Error('no')) };
    await expect(run(creating(1, 'apples'), failing)).rejects.toThrow('no');
    expect(tables()).toEqual([]);
    expect(await run(creating(1, 'apples'))).toHaveLength(1);
  });

  it('refuse a database with later migrations', async () => {
    await run(creating(1, 'apples'), creating(2, 'pears'));
    await expect(run(creating(1, 'apples'))).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(
        'test.db was written by a newer Coldiron (schema 2, this version knows up to 1)',
      ),
    });
  });
});

describe('the migration to persistent boot overrides', () => {
  it('imports the overrides that are still set according to the events', async () => {
    const database = new BetterSqlite3(':memory:');
    const db = new Kysely<Database>({ dialect: sqliteDialect(database) });
    await migrate(db, NO_DDL, MIGRATIONS.slice(0, 7), 'test.db');
    const addMachine = database.prepare(
      "insert into machines values (?, ?, 's', '{}', 'ready', null, '{}', 'x', null, 1, 1)",
    );
    for (const id of ['set', 'undone', 'by-hand', 'again']) addMachine.run(id, id);
    const set = JSON.stringify({ method: 'ipmi-efi-persistent', words: 'x' });
    const events: readonly (readonly [machine: string, kind: string, data: string])[] = [
      ...['set', 'undone', 'by-hand', 'again', 'removed'].map((id) => [id, 'bmc.boot-lasting', set] as const),
      ['set', 'bmc.done', '{"what":"power"}'],
      ['set', 'bmc.boot-not-undone', '{}'],
      ['undone', 'bmc.boot-undone', '{}'],
      ['by-hand', 'bmc.done', '{"what":"bootdev"}'],
      ['again', 'bmc.boot-undone', 'null'],
      ['again', 'bmc.boot-lasting', '{"method":"redfish-efi-persistent"}'],
    ];
    const add = database.prepare(
      "insert into events (seq, at, kind, actor, machine, correlation_id, data) values (?, ?, ?, 'appliance', ?, null, ?)",
    );
    for (const [seq, [machine, kind, data]] of events.entries()) add.run(seq, 1000 + seq, kind, machine, data);
    await migrate(db, NO_DDL, MIGRATIONS, 'test.db');
    expect(database.prepare('select * from persistent_boot_overrides order by machine').all()).toEqual([
      { machine: 'again', method: 'redfish-efi-persistent', set_at: 1010 },
      { machine: 'set', method: 'ipmi-efi-persistent', set_at: 1000 },
    ]);
    database.close();
  });
});
