import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS } from '../../../appliance/store/sql/migrations/registry.ts';
import { openSqliteStore, openSqliteStoreReadOnly } from '../../../appliance/store/sqlite/sqlite.ts';
import { addMachine, newAudit, newEvent } from '../samples.ts';
import { useScratchFolder } from '../scratch-folder.ts';

const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8);

describe('opening a store', () => {
  const at = useScratchFolder();

  it.each(['000', '022', '077', '777'])('makes folder and files private under umask %s', async (umask) => {
    const file = at('state/deeper/coldiron.db');
    const before = process.umask(Number.parseInt(umask, 8));
    try {
      const store = await openSqliteStore({ file });
      await store.appendEvents([newEvent('a')]);
      const modes = ['', '-wal', '-shm'].map((suffix) => modeOf(`${file}${suffix}`));
      await store.close();
      expect([modeOf(at('state/deeper')), ...modes]).toEqual(['700', '600', '600', '600']);
    } finally {
      process.umask(before);
    }
  });

  it('removes the access of other users from a restored file', async () => {
    const file = at('coldiron.db');
    await (await openSqliteStore({ file })).close();
    chmodSync(file, 0o644);
    await (await openSqliteStore({ file })).close();
    expect(modeOf(file)).toBe('600');
  });

  it('does not change an existing folder', async () => {
    mkdirSync(at('shared'));
    chmodSync(at('shared'), 0o750);
    await (await openSqliteStore({ file: at('shared/coldiron.db') })).close();
    expect(modeOf(at('shared'))).toBe('750');
  });

  it('keeps all data across restarts, and migrates the schema only once', async () => {
    const file = at('coldiron.db');
    const lines: object[] = [];
    const logger = { info: (fields: object) => void lines.push(fields), error: () => undefined };
    const first = await openSqliteStore({ file, logger });
    const machine = await addMachine(first, 1);
    await first.close();
    expect(lines).toEqual(MIGRATIONS.map(({ number, name }) => ({ file, migration: number, name })));
    const second = await openSqliteStore({ file, logger });
    expect((await second.inventory()).machines).toEqual([machine]);
    await second.close();
    expect(lines).toHaveLength(MIGRATIONS.length);
  });

  it('uses a write-ahead log, which does not block readers', async () => {
    const file = at('coldiron.db');
    const store = await openSqliteStore({ file });
    const beside = new BetterSqlite3(file);
    try {
      expect(beside.pragma('journal_mode', { simple: true })).toBe('wal');
    } finally {
      beside.close();
      await store.close();
    }
  });

  it.each([
    ['text', 'this is a note, not a database\n'.repeat(100)],
    ['a few bytes', 'x'],
    ['random bytes', Buffer.alloc(8192, 0xa5)],
  ])('refuses a file of %s, and does not change it', async (_, content) => {
    const file = at('notes.txt');
    writeFileSync(file, content, { mode: 0o644 });
    await expect(openSqliteStore({ file })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: `${file} is not a SQLite database: use another file`,
    });
    expect(readFileSync(file)).toEqual(Buffer.from(content));
    expect(modeOf(file)).toBe('644');
  });

  it('refuses a truncated database', async () => {
    const file = at('coldiron.db');
    await (await openSqliteStore({ file })).close();
    writeFileSync(file, readFileSync(file).subarray(0, 3000));
    await expect(openSqliteStore({ file })).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  it('refuses the database of another program', async () => {
    const file = at('other.db');
    const other = new BetterSqlite3(file);
    other.exec('create table songs (title text)');
    other.close();
    await expect(openSqliteStore({ file })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: `${file} is a database of another program: use another file`,
    });
  });

  it('refuses a store of a newer version, for writing and for reading', async () => {
    const file = at('coldiron.db');
    await (await openSqliteStore({ file })).close();
    const beside = new BetterSqlite3(file);
    beside.exec("insert into schema_migrations (number, name) values (99, 'from-the-future')");
    beside.close();
    const refusal = {
      code: 'store_unavailable',
      message:
        `${file} was written by a newer Coldiron (schema 99, this version knows up to ${MIGRATIONS.length}): ` +
        'run that version, or restore a backup from before the upgrade',
    };
    await expect(openSqliteStore({ file })).rejects.toMatchObject(refusal);
    await expect(openSqliteStoreReadOnly({ file })).rejects.toMatchObject(refusal);
  });

  it('refuses a folder instead of a file', async () => {
    const refusal = { code: 'store_unavailable', message: `${at('')} is a folder: use a file in it` };
    await expect(openSqliteStore({ file: at('') })).rejects.toMatchObject(refusal);
    await expect(openSqliteStoreReadOnly({ file: at('') })).rejects.toMatchObject(refusal);
  });

  it('names the file that it could not prepare, and the reason', async () => {
    writeFileSync(at('plain'), '');
    const file = at('plain/coldiron.db');
    const refusal = { code: 'store_unavailable', message: expect.stringMatching(/cannot use .*coldiron\.db: E/) };
    await expect(openSqliteStore({ file })).rejects.toMatchObject(refusal);
  });
});

describe('opening a store read-only', () => {
  const at = useScratchFolder();

  it('verifies the audit chain of a store that no appliance uses, and changes nothing', async () => {
    const file = at('coldiron.db');
    const store = await openSqliteStore({ file });
    await store.appendAudit([newAudit('a')]);
    await store.close();
    const before = readFileSync(file);
    const reader = await openSqliteStoreReadOnly({ file });
    expect(await reader.verifyAudit()).toMatchObject({ intact: true, entries: 1 });
    expect((await reader.auditEntries(0, 10)).map(({ action }) => action)).toEqual(['a']);
    await reader.close();
    expect(readFileSync(file)).toEqual(before);
  });

  it('reads what a running appliance has committed', async () => {
    const file = at('coldiron.db');
    const store = await openSqliteStore({ file });
    const reader = await openSqliteStoreReadOnly({ file });
    const machine = await addMachine(store, 1);
    expect((await reader.inventory()).machines).toEqual([machine]);
    await reader.close();
    await store.close();
  });

  it('creates no store if there is none', async () => {
    const file = at('coldiron.db');
    await expect(openSqliteStoreReadOnly({ file })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: `there is no store at ${file}: the appliance creates it at its first start`,
    });
    expect(statSync(file, { throwIfNoEntry: false })).toBeUndefined();
  });

  it('refuses an older schema, because it must not migrate', async () => {
    const file = at('coldiron.db');
    writeFileSync(file, '');
    await expect(openSqliteStoreReadOnly({ file })).rejects.toMatchObject({
      code: 'store_unavailable',
      message: `${file} has schema 0, this version reads ${MIGRATIONS.length}: start the appliance once to migrate it`,
    });
  });
});
