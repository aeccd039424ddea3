// A process that is killed leaves what it wrote to the kernel, so killing it does not show what a power cut takes. These tests
// hold the disk back instead.

import { readlinkSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest';
import { openSqliteStore } from '../../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { leaseOf, newEvent } from '../samples.ts';
import { useScratchFolder } from '../scratch-folder.ts';

const at = useScratchFolder();
let store: Store;
let datasync: MockInstance<FileHandle['datasync']>;

beforeEach(async () => {
  store = await openSqliteStore({ file: at('coldiron.db') });
  const handle = await open(at('coldiron.db'));
  datasync = vi.spyOn(Object.getPrototypeOf(handle) as FileHandle, 'datasync');
  await handle.close();
});

afterEach(async () => {
  datasync.mockRestore();
  await store.close();
});

const logBytes = (): number => statSync(at('coldiron.db-wal')).size;

const COMMITS = [
  { what: 'leases', commit: (n = 0) => store.commitLeases([leaseOf(n)]) },
  { what: 'the trail', commit: () => store.appendEvents([newEvent('dhcp.ack')]) },
] as const;

describe.each(COMMITS)('a commit of $what', ({ commit }) => {
  it('resolves only when the log is on disk', async () => {
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

  it('fails when the log cannot be brought to disk, and the next one is not written behind what may be missing', async () => {
    for (let n = 1; n < 20; n += 1) await commit(n);
    const before = logBytes();
    datasync.mockRejectedValueOnce(new Error('EIO: i/o error, fdatasync'));
    await expect(commit(20)).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('cannot be brought to disk (EIO'),
    });
    expect(logBytes()).toBeGreaterThan(before);
    await commit(21);
    // One commit alone is in it.
    expect(logBytes()).toBeLessThan(before / 2);
  });
});
