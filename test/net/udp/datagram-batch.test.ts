import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BATCH_SLOTS, DatagramBatch, SLOT_BYTES } from '../../../appliance/net/udp/datagram-batch.ts';
import { endpointFrom } from '../../../appliance/net/udp/endpoint.ts';

const datagram = fc.record({
  slot: fc.nat({ max: BATCH_SLOTS - 1 }),
  bytes: fc.uint8Array({ maxLength: SLOT_BYTES }),
  to: fc
    .tuple(fc.integer({ min: 0, max: 0xffff_ffff }), fc.integer({ min: 0, max: 65_535 }))
    .map(([address, port]) => endpointFrom(address, port)),
});

describe('a batch of datagrams', () => {
  it('holds in each slot the last datagram and its destination', () => {
    fc.assert(
      fc.property(fc.array(datagram), (datagrams) => {
        const batch = new DatagramBatch();
        const expected = new Map(datagrams.map((one) => [one.slot, one]));
        for (const { slot, bytes, to } of datagrams) batch.put(slot, bytes, to);
        for (const { slot, bytes, to } of expected.values()) {
          expect(batch.toSend(slot)).toEqual(bytes);
          expect(batch.peer(slot)).toBe(to);
        }
      }),
    );
  });
});
