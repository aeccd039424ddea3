// A killed process leaves its writes in the kernel, so killing it does not simulate a power cut. These tests delay or fail the
// disk sync instead.

import { readlinkSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import BetterSqlite3 from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { openSqliteStore } from '../../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { addMachine, leaseOf, newEvent } from '../samples.ts';
import { useScratchFolder } from '../scratch-folder.ts';

const at = useScratchFolder();
let store: Store;
let datasync: MockInstance<FileHandle['datasync']>;
/** `synchronous` is a setting of the connection, not of the file: another connection would not show it. */
let connection: BetterSqlite3.Database | undefined;

beforeEach(async () => {
  const prepare = vi.spyOn(BetterSqlite3.prototype, 'prepare');
  store = await openSqliteStore({ file: at('coldiron.db') });
  connection = prepare.mock.contexts.at(-1) as BetterSqlite3.Database | undefined;
  prepare.mockRestore();
  const handle = await open(at('coldiron.db'));
  datasync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'datasync');
  await handle.close();
});

afterEach(async () => {
  datasync.mockRestore();
  await store.close();
});

const logBytes = (): number => statSync(at('coldiron.db-wal')).size;

/** As SQLite numbers the values of `pragma synchronous`. */
const FULL = 2;
const synchronous = (): unknown => connection?.pragma('synchronous', { simple: true });

const COMMITS = [
  { what: 'leases', commit: (n = 0) => store.commitLeases([leaseOf(n)]) },
  { what: 'the trail', commit: () => store.appendEvents([newEvent('dhcp.ack')]) },
] as const;

it('a store has synchronous=FULL once it is open', () => {
  expect(synchronous()).toBe(FULL);
});

describe.each(COMMITS)('a commit of $what', ({ commit }) => {
  it('resolves only after the log is synced', async () => {
    const disk = Promise.withResolvers<void>();
    const synced: string[] = [];
    datasync.mockImplementation(async function (this: FileHandle) {
      synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
      await disk.promise;
    });
    let isDurable = false;
    const committed = commit().then(() => {
      isDurable = true;
    });
    await expect.poll(() => synced).toEqual([at('coldiron.db-wal')]);
    for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    expect(isDurable).toBe(false);
    disk.resolve();
    await committed;
    expect(isDurable).toBe(true);
  });

  it('restores synchronous=FULL for other commits', async () => {
    await commit();
    expect(synchronous()).toBe(FULL);
    datasync.mockRejectedValueOnce(new Error('EIO: i/o error, fdatasync'));
    await expect(commit(1)).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(synchronous()).toBe(FULL);
    await addMachine(store, 1);
    expect(synchronous()).toBe(FULL);
  });

  it('fails when the log cannot be synced, and the next commit is not appended after frames that may be missing', async () => {
    for (let n = 1; n < 20; n += 1) await commit(n);
    const before = logBytes();
    datasync.mockRejectedValueOnce(new Error('EIO: i/o error, fdatasync'));
    await expect(commit(20)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('cannot be synced to disk (EIO'),
    });
    expect(logBytes()).toBeGreaterThan(before);
    await commit(21);
    // It contains only one commit.
    expect(logBytes()).toBeLessThan(before / 2);
  });
});

it('a failed commit restores synchronous=FULL for other commits', async () => {
  const unkept = { ...leaseOf(1), network: null as never };
  await expect(store.commitLeases([unkept])).rejects.toThrow(/NOT NULL/);
  expect(synchronous()).toBe(FULL);
});
