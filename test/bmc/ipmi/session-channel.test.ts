import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Established } from '../../../appliance/bmc/ipmi/handshake.ts';
import { SessionChannel } from '../../../appliance/bmc/ipmi/session-channel.ts';
import { decodePacket } from '../../../appliance/codecs/ipmi/packet.ts';
import { sealPacket } from '../../../appliance/codecs/ipmi/sealed-packet.ts';
import { OFFER } from './handshake-peer.ts';

const key = new Uint8Array(32).fill(9);
const established: Established = {
  offer: OFFER,
  keys: { sik: key, k1: key, k2: key },
  consoleSessionId: 0xc0,
  bmcSessionId: 0xb0,
};

/** Which of these sequence numbers, in this order of arrival, are let through. */
function accepted(sequences: readonly number[]): number[] {
  const channel = new SessionChannel(established, (count) => new Uint8Array(count));
  return sequences.filter((sequence) => {
    const packet = decodePacket(
      sealPacket(OFFER.suite, established.keys, {
        payloadType: 0,
        sessionId: 0xc0,
        sequence,
        payload: Uint8Array.of(1),
        initialVector: new Uint8Array(16),
      }),
    );
    return channel.isOurs(packet) && channel.open(packet) !== null;
  });
}

describe('the sequence window', () => {
  it.each<[string, readonly number[], readonly number[]]>([
    ['lets packets in order through', [1, 2, 3], [1, 2, 3]],
    ['starts wherever the BMC starts', [700, 701], [700, 701]],
    ['drops what was heard before', [1, 1, 2, 1, 2], [1, 2]],
    ['lets late ones through once', [5, 3, 4, 3, 6], [5, 3, 4, 6]],
    ['goes sixteen ahead and no further', [1, 17, 34], [1, 17]],
    ['goes sixteen back and no further', [40, 24, 23], [40, 24]],
    ['remembers across a jump', [1, 2, 10, 2, 9, 9], [1, 2, 10, 9]],
  ])('%s', (_sentence, arriving, expected) => {
    expect(accepted(arriving)).toEqual(expected);
  });

  it('lets each number through at most once, whatever the order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60 }), (sequences) => {
        const through = accepted(sequences);
        expect(new Set(through).size).toBe(through.length);
      }),
      { numRuns: 60 },
    );
  });
});

describe('outgoing packets', () => {
  it('are numbered from 1, each with a number of its own', () => {
    const channel = new SessionChannel(established, (count) => new Uint8Array(count));
    const numbers = [1, 2, 3].map(() => {
      const packet = decodePacket(channel.seal(0, Uint8Array.of(1)));
      return packet.kind === 'rmcp-plus' ? [packet.sessionId, packet.sequence] : null;
    });
    expect(numbers).toEqual([
      [0xb0, 1],
      [0xb0, 2],
      [0xb0, 3],
    ]);
  });
});
