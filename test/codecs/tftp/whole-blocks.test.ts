import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockWindow } from '../../../appliance/codecs/tftp/block-window.ts';
import { octetBlocks } from '../../../appliance/codecs/tftp/blocks.ts';
import { WholeBlocks } from '../../../appliance/codecs/tftp/whole-blocks.ts';
import { packetOf } from '../../servers/tftp/tftp-transfer-simulation.ts';

describe('the blocks of a file in memory', () => {
  it('equal the blocks that are cut from the same file in pieces', () => {
    const shape = fc.record({
      file: fc.uint8Array({ maxLength: 300 }),
      blockSize: fc.integer({ min: 8, max: 40 }),
      rolloverTo: fc.constantFrom<0 | 1>(0, 1),
    });
    fc.assert(
      fc.property(shape, ({ file, blockSize, rolloverTo }) => {
        const read = (offset: number, length: number) => file.subarray(offset, offset + length);
        const pieces = new BlockWindow(octetBlocks({ size: file.length, read }), {
          blockSize,
          windowSize: 1,
          rolloverTo,
        });
        const whole = new WholeBlocks(file.length, { blockSize, rolloverTo });
        while (!pieces.complete) {
          expect(whole.complete).toBe(false);
          expect([pieces.cutNext(), whole.cutNext()]).toEqual(['cut', 'cut']);
          const block = whole.newest;
          expect(block).toBe(pieces.newest);
          expect(Buffer.from(packetOf(whole.packet(block), file))).toEqual(Buffer.from(pieces.packet(block) ?? []));
          expect(whole.bytesThrough(block)).toBe(pieces.bytesThrough(block));
        }
        expect(whole.complete).toBe(true);
      }),
    );
  });

  it('wrap to 0 or to 1 after block 65535', () => {
    for (const rolloverTo of [0, 1] as const) {
      const blocks = new WholeBlocks(70_000 * 8, { blockSize: 8, rolloverTo });
      expect(blocks.packet(65_535).head).toBe(0x0003_ffff);
      expect(blocks.packet(65_536)).toEqual({ head: 0x0003_0000 + rolloverTo, offset: 65_535 * 8, length: 8 });
    }
  });
});
