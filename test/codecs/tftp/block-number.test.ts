import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blockFromWire, wireBlock } from '../../../appliance/codecs/tftp/block-number.ts';

describe('block numbers', () => {
  it('continue with 0 after 65535, as in EDK2, iPXE, U-Boot and GRUB', () => {
    expect([65534, 65535, 65536, 65537, 131072].map((count) => wireBlock(count, 0))).toEqual([65534, 65535, 0, 1, 0]);
  });

  it('continue with 1 after 65535 for ROMs that do so', () => {
    expect([0, 65534, 65535, 65536, 131070, 131071].map((count) => wireBlock(count, 1))).toEqual([
      0, 65534, 65535, 1, 65535, 1,
    ]);
  });

  it('with rollover to 1, number 0 is only the ACK of the OACK', () => {
    expect(blockFromWire(0, 65534, 1)).toBe(0);
  });

  it('are unambiguous within any window that is granted', () => {
    const rollover = fc.constantFrom(0 as const, 1 as const);
    fc.assert(
      fc.property(fc.nat(1_000_000), fc.nat(32_767), rollover, (from, ahead, to) => {
        expect(blockFromWire(wireBlock(from + ahead, to), from, to)).toBe(from + ahead);
      }),
    );
  });

  it('from before the window never map into the window', () => {
    const rollover = fc.constantFrom(0 as const, 1 as const);
    fc.assert(
      fc.property(
        fc.integer({ min: 40_000, max: 1_000_000 }),
        fc.integer({ min: 1, max: 32_767 }),
        rollover,
        (from, behind, to) => {
          expect(blockFromWire(wireBlock(from - behind, to), from, to)).toBeGreaterThan(from + 32_767);
        },
      ),
    );
  });
});
