import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type BlockCutter, octetBlocks } from '../../../appliance/codecs/tftp/blocks.ts';
import { netasciiBlocks } from '../../../appliance/codecs/tftp/netascii.ts';

const sourceOf = (file: Uint8Array) => ({
  size: file.length,
  read: (offset: number, length: number) => file.subarray(offset, offset + length),
});

/** Is not ready at the first call for each range. */
function hesitantSourceOf(file: Uint8Array) {
  const ready = sourceOf(file);
  let hesitate = false;
  return {
    size: file.length,
    read(offset: number, length: number) {
      hesitate = !hesitate;
      return hesitate ? null : ready.read(offset, length);
    },
  };
}

/** Cuts all blocks, up to the one that is not full; the bytes before `at` must stay untouched. */
function cutAll(cutter: BlockCutter, blockSize: number): Uint8Array[] {
  const blocks: Uint8Array[] = [];
  const target = new Uint8Array(4 + blockSize).fill(0xee);
  for (;;) {
    const length = cutter.cut(target, 4);
    if (length === 'not-ready') continue;
    if (length === 'ended-early') throw new Error('the source ended early');
    expect(target.subarray(0, 4)).toEqual(new Uint8Array(4).fill(0xee));
    blocks.push(target.slice(4, 4 + length));
    if (length < blockSize) return blocks;
  }
}

const text = (value: string) => new Uint8Array(Buffer.from(value, 'latin1'));
const joined = (blocks: Uint8Array[]) => Buffer.concat(blocks).toString('latin1');
const translated = (file: Uint8Array) =>
  Buffer.from(file)
    .toString('latin1')
    .replace(/\r|\n/g, (end) => (end === '\n' ? '\r\n' : '\r\0'));

const fileWithLineEnds = fc
  .array(fc.constantFrom(0x0d, 0x0a, 0x00, 0x41, 0xff), { maxLength: 120 })
  .map((values) => Uint8Array.from(values));
const blockSize = fc.integer({ min: 8, max: 40 });

describe('cutting a file', () => {
  it('returns the bytes in order, with a last block that is not full', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), blockSize, (file, size) => {
        const blocks = cutAll(octetBlocks(sourceOf(file)), size);
        expect(Buffer.concat(blocks)).toEqual(Buffer.from(file));
        expect(blocks).toHaveLength(Math.floor(file.length / size) + 1);
      }),
    );
  });

  it('reports a source that is shorter than announced', () => {
    const short = { size: 10, read: () => Uint8Array.of(1, 2, 3) };
    expect(octetBlocks(short).cut(new Uint8Array(12), 4)).toBe('ended-early');
    expect(netasciiBlocks(short).cut(new Uint8Array(12), 4)).toBe('ended-early');
  });
});

describe('netascii', () => {
  it('ends lines with CR LF and sends a bare CR as CR NUL', () => {
    expect(joined(cutAll(netasciiBlocks(sourceOf(text('a\nb\r\nc\r'))), 512))).toBe('a\r\nb\r\0\r\nc\r\0');
  });

  it('splits a pair at the end of a block', () => {
    expect(cutAll(netasciiBlocks(sourceOf(text('1234567\n9'))), 8).map((block) => joined([block]))).toEqual([
      '1234567\r',
      '\n9',
    ]);
  });

  it('ends a file that fills its last block with an empty block', () => {
    expect(cutAll(netasciiBlocks(sourceOf(text('123456\n'))), 8).map((block) => block.length)).toEqual([8, 0]);
  });

  it('is the same stream for every block size', () => {
    fc.assert(
      fc.property(fileWithLineEnds, blockSize, (file, size) => {
        expect(joined(cutAll(netasciiBlocks(sourceOf(file)), size))).toBe(translated(file));
      }),
    );
  });

  it('is the same stream when the source is not ready in the middle of a block', () => {
    fc.assert(
      fc.property(fileWithLineEnds, blockSize, (file, size) => {
        expect(joined(cutAll(netasciiBlocks(hesitantSourceOf(file)), size))).toBe(translated(file));
      }),
    );
  });
});
