// The errors that callers get when the engine of the store fails.

import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import { Kysely } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { CommandId } from '../../appliance/store/change.ts';
import { Publisher } from '../../appliance/store/publisher.ts';
import type { Database } from '../../appliance/store/sql/schema.ts';
import { createSqlStore } from '../../appliance/store/sql/sql-store.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { sqliteDialect } from '../../appliance/store/sqlite/sqlite-driver.ts';
import type { Store } from '../../appliance/store/store.ts';
import { brokenStore } from './broken-store.ts';
import { addMachine, creationOf, eventKinds, inventoryWrites, leaseOf, newAudit, newEvent, specOf } from './samples.ts';
import { useScratchFolder } from './scratch-folder.ts';
import { changeOf } from './writes.ts';

const UNAVAILABLE = { name: 'ColdironError', code: 'store_unavailable' };

/** Simulates a disk error during the commit, as SQLite reports it. */
async function openWithFailingCommit(file: string, name: string) {
  expect(name).toBe(file);
  const failing = { now: false };
  const database = new BetterSqlite3(file);
  const prepare = database.prepare.bind(database);
  database.prepare = ((sql: string) => {
    const statement = prepare(sql);
    if (sql !== 'commit') return statement;
    const run = (parameters: unknown[]) => {
      if (failing.now) throw new BetterSqlite3.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
      return statement.run(parameters);
    };
    return { reader: false, run };
  }) as typeof database.prepare;
  const db = new Kysely<Database>({ dialect: sqliteDialect(database) });
  const reopened = createSqlStore(db, async () => void database.close(), new Publisher(null));
  return { failing, reopened };
}

describe('a store whose engine fails', () => {
  const at = useScratchFolder();

  /** A store whose connection the test can use. */
  async function openWithConnection(): Promise<{ store: Store; database: BetterSqlite3.Database }> {
    const file = at('coldiron.db');
    await (await openSqliteStore({ file })).close();
    const database = new BetterSqlite3(file);
    const db = new Kysely<Database>({ dialect: sqliteDialect(database) });
    return { store: createSqlStore(db, async () => void database.close(), new Publisher(null)), database };
  }

  it('reports a full disk, keeps its data, and works again when there is space', async () => {
    const { store, database } = await openWithConnection();
    const machine = await addMachine(store, 1);
    database.pragma('max_page_count = 1');
    const createMachines = Array.from({ length: 500 }, (_, n) => creationOf(specOf(n + 2)));
    await expect(store.writeInventory(inventoryWrites(1, { createMachines }))).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: expect.stringContaining('the disk is full (SQLITE_FULL'),
    });
    expect((await store.inventory()).machines).toEqual([machine]);
    database.pragma('max_page_count = 1000000');
    await store.writeInventory(inventoryWrites(1, { createMachines }));
    expect((await store.inventory()).machines).toHaveLength(501);
    await store.close();
  });

  it('reports an unknown outcome when the disk fails during the commit; repeating the command id resolves it', async () => {
    const { store, database } = await openWithConnection();
    const machine = await addMachine(store, 1);
    await store.close();
    const { failing, reopened } = await openWithFailingCommit(at('coldiron.db'), database.name);
    const change = changeOf(machine.id, {
      command: { id: 'request-1' as CommandId, digest: 'x' },
      writes: [{ kind: 'set-health', health: 'online' }],
    });
    failing.now = true;
    await expect(reopened.commit(change)).rejects.toMatchObject({ code: 'outcome_unknown' });
    failing.now = false;
    expect(await reopened.command('request-1' as CommandId)).toBeNull();
    expect((await reopened.commit(change)).outcome).toBe('committed');
    expect((await reopened.commit(change)).outcome).toBe('repeated');
    await reopened.close();
  });

  it('reports a damaged file instead of an empty result', async () => {
    const file = at('coldiron.db');
    const store = await openSqliteStore({ file });
    await store.commitLeases(Array.from({ length: 2_000 }, (_, n) => leaseOf(n)));
    await store.close();
    const { size } = statSync(file);
    const handle = openSync(file, 'r+');
    writeSync(handle, Buffer.alloc(size - 4096, 0xff), 0, size - 4096, 4096);
    closeSync(handle);
    await expect(openSqliteStore({ file }).then((damaged) => damaged.leases())).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: expect.stringContaining('the database file is damaged (SQLITE_CORRUPT'),
    });
  });

  it('reports a file that cannot be written to', async () => {
    const { store, database } = await openWithConnection();
    database.pragma('query_only = ON');
    await expect(store.commitLeases([leaseOf(1)])).rejects.toMatchObject({
      ...UNAVAILABLE,
      message: expect.stringContaining('the file cannot be written to (SQLITE_READONLY'),
    });
    await store.close();
  });

  it('waits for the lock of another process without blocking the event loop', async () => {
    const file = at('coldiron.db');
    const store = await openSqliteStore({ file });
    const other = new BetterSqlite3(file);
    other.exec('begin immediate');
    let waiting = true;
    const write = store.appendEvents([newEvent('a')]).finally(() => {
      waiting = false;
    });
    for (let turn = 0; turn < 100; turn += 1) await setImmediate();
    expect(waiting).toBe(true);
    other.exec('commit');
    other.close();
    await write;
    expect(await eventKinds(store)).toEqual(['a']);
    await store.close();
  });

  it('reports the first error when SQLite has rolled back by itself', async () => {
    const { store, database } = await openWithConnection();
    database.exec("create trigger t before insert on leases begin select raise(rollback, 'the first error'); end");
    await expect(store.commitLeases([leaseOf(1)])).rejects.toThrow('the first error');
    await store.close();
  });

  it('does not translate constraint violations and invalid SQL', async () => {
    const { store } = await openWithConnection();
    const creation = creationOf(specOf(1));
    const twice = inventoryWrites(0, { createMachines: [creation, { ...creation, spec: specOf(2) }] });
    await expect(store.writeInventory(twice)).rejects.toMatchObject({ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' });
    await store.close();
  });

  it('rejects readers and writers after close', async () => {
    const store = await openSqliteStore({ file: at('coldiron.db') });
    await store.close();
    const closed = { ...UNAVAILABLE, message: 'the store is closed' };
    await expect(store.inventory()).rejects.toMatchObject(closed);
    await expect(store.leases()).rejects.toMatchObject(closed);
    await expect(store.commitLeases([leaseOf(1)])).rejects.toMatchObject(closed);
    await expect(store.close()).resolves.toBeUndefined();
  });

  it('completes running transactions before it closes', async () => {
    const file = at('coldiron.db');
    const store = await openSqliteStore({ file });
    const createMachines = Array.from({ length: 600 }, (_, n) => creationOf(specOf(n)));
    const write = store.writeInventory(inventoryWrites(0, { createMachines, audit: [newAudit('inventory.apply')] }));
    await setImmediate();
    await store.close();
    await write;
    const again = await openSqliteStore({ file });
    expect((await again.inventory()).machines).toHaveLength(600);
    await again.close();
  });
});

describe('the broken store for other tests', () => {
  const at = useScratchFolder();

  it('fails in every method as the contract says', async () => {
    const working = await openSqliteStore({ file: at('coldiron.db') });
    const names = Object.keys(working) as (keyof Store)[];
    await working.close();
    expect(names.length).toBeGreaterThan(30);
    const broken = brokenStore() as unknown as Record<string, () => Promise<unknown>>;
    for (const name of names) await expect(broken[name]?.(), name).rejects.toMatchObject(UNAVAILABLE);
  });

  it('accepts methods that still work', async () => {
    const store = brokenStore({ close: async () => undefined });
    await expect(store.close()).resolves.toBeUndefined();
    await expect(store.appendEvents([newEvent('a')])).rejects.toMatchObject(UNAVAILABLE);
  });
});
