import { describe, expect, it } from 'vitest';
import { ByteSlab } from '../../../appliance/net/udp/byte-slab.ts';

describe('a slab', () => {
  it('returns zeroed memory that does not overlap', () => {
    const slab = new ByteSlab();
    const taken = Array.from({ length: 1000 }, (_, at) => ({ bytes: slab.take(300 + (at % 7)), mark: at % 256 }));
    for (const { bytes, mark } of taken) {
      expect(bytes.every((byte) => byte === 0)).toBe(true);
      bytes.fill(mark);
    }
    for (const { bytes, mark } of taken) expect(bytes.every((byte) => byte === mark)).toBe(true);
  });

  it('copies bytes that will be overwritten', () => {
    const slab = new ByteSlab();
    const original = Uint8Array.of(1, 2, 3);
    const copy = slab.copy(original);
    original.fill(0);
    expect([...copy]).toEqual([1, 2, 3]);
  });

  it('returns a packet of the maximum UDP length', () => {
    expect(new ByteSlab().take(65_507)).toHaveLength(65_507);
  });
});
