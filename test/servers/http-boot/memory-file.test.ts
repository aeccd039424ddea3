import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { MemoryFile } from '../../../appliance/servers/http-boot/memory-file.ts';
import { patternBytes } from './boot-server-rig.ts';

const MEBIBYTE = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'coldiron-memory-'));
const path = join(folder, 'file');
const opened: FileHandle[] = [];

afterEach(async () => {
  for (const handle of opened.splice(0)) await handle.close();
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function source(bytes: Uint8Array): Promise<FileHandle> {
  writeFileSync(path, bytes);
  const handle = await open(path);
  opened.push(handle);
  return handle;
}

const descriptors = (): number => readdirSync('/proc/self/fd').length;
/** This process's mappings of files in memory. */
const windows = (): number => readFileSync('/proc/self/maps', 'utf8').split('memfd:boot-file').length - 1;

describe('a file in memory', () => {
  it.each([0, 1, 2 * MEBIBYTE - 1, 2 * MEBIBYTE, 2 * MEBIBYTE + 1, 4 * MEBIBYTE, 7 * MEBIBYTE + 4097, 16 * MEBIBYTE])(
    'of %i bytes equals the file on the disk, with any page size',
    async (size) => {
      const bytes = patternBytes(size);
      const file = await MemoryFile.copyOf(await source(bytes), size, () => false);
      expect(file?.peek(size + 1, 0).equals(bytes)).toBe(true);
      const end = Buffer.alloc(10);
      const { bytesRead } = (await file?.read(end, 10, Math.max(size - 5, 0))) ?? { bytesRead: -1 };
      expect(end.subarray(0, bytesRead).equals(bytes.subarray(Math.max(size - 5, 0)))).toBe(true);
      expect(windows()).toBe(0);
      file?.close();
    },
  );

  it('is rejected when its source is shorter than announced, and leaves nothing behind', async () => {
    const handle = await source(patternBytes(5 * MEBIBYTE));
    const before = descriptors();
    await expect(MemoryFile.copyOf(handle, 6 * MEBIBYTE, () => false)).rejects.toThrow('ends at byte');
    await expect.poll(descriptors).toBe(before);
    expect(windows()).toBe(0);
  });

  it('is cancelled on request, and leaves nothing behind', async () => {
    const handle = await source(patternBytes(9 * MEBIBYTE));
    const before = descriptors();
    let turns = 0;
    expect(await MemoryFile.copyOf(handle, 9 * MEBIBYTE, () => turns++ > 0)).toBeNull();
    await expect.poll(descriptors).toBe(before);
    expect(windows()).toBe(0);
  });
});
