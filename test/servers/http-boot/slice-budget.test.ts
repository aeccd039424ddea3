import { describe, expect, it } from 'vitest';
import { FileBytes } from '../../../appliance/servers/http-boot/file-bytes.ts';
import { SliceBudget } from '../../../appliance/servers/http-boot/slice-budget.ts';
import { put, temporaryFolder } from '../../assets/tiny-files.ts';

const KIBIBYTE = 1024;
const MEBIBYTE = KIBIBYTE * KIBIBYTE;
/** Concurrent requests that the boot server accepts. */
const CONCURRENT = 4096;

describe('the buffer memory for files from the disk', () => {
  it('is large for a few, small for many, and never more than a fixed amount', () => {
    const budget = new SliceBudget();
    const sizes = Array.from({ length: CONCURRENT }, () => budget.borrow(1e9).size);
    expect(sizes.slice(0, 32).every((size) => size === 256 * KIBIBYTE)).toBe(true);
    expect(sizes.at(-1)).toBe(16 * KIBIBYTE);
    expect(budget.bytesInUse).toBeLessThan(192 * MEBIBYTE);
  });

  it('is returned exactly once', () => {
    const budget = new SliceBudget();
    const loans = Array.from({ length: 1000 }, () => budget.borrow(1e9));
    for (const loan of [...loans, ...loans]) loan.giveBack();
    expect(budget.bytesInUse).toBe(0);
    expect(budget.borrow(1e9).size).toBe(256 * KIBIBYTE);
    expect(budget.borrow(10).size).toBe(10);
  });

  it('is returned by transfers that end early, and many readers get complete files', async () => {
    const size = 3 * MEBIBYTE + 5;
    const file = put(temporaryFolder(), 'disk', Buffer.alloc(size, 'slices '));
    // No file is cached: all transfers read from the disk.
    const files = new FileBytes(0, () => undefined);
    const asset = { name: 'images/x/disk', file, size, sha256: 'a'.repeat(64) };
    const borrowed = await Promise.all(Array.from({ length: 400 }, () => files.borrow(asset)));
    const readers = borrowed.map((each) => each.slices(0, size));
    for (const reader of readers) await reader.next();
    expect(files.bufferBytes).toBeLessThan(80 * MEBIBYTE);

    for (const reader of readers.slice(1, -1)) await reader.return(undefined);
    const last = readers.at(-1);
    let taken = 16 * KIBIBYTE;
    for (let turn = await last?.next(); turn && !turn.done; turn = await last?.next()) taken += turn.value.length;
    expect(taken).toBe(size);
    await readers[0]?.return(undefined);
    for (const each of borrowed) each.release();
    expect(files.bufferBytes).toBe(0);
    await files.close();
  });
});
