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

/** Which of these sequence numbers, in this order of arrival, are accepted. */
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
    ['accepts packets in order', [1, 2, 3], [1, 2, 3]],
    ['starts with any number', [700, 701], [700, 701]],
    ['drops duplicates', [1, 1, 2, 1, 2], [1, 2]],
    ['accepts late packets once', [5, 3, 4, 3, 6], [5, 3, 4, 6]],
    ['accepts at most sixteen ahead', [1, 17, 34], [1, 17]],
    ['accepts at most sixteen back', [40, 24, 23], [40, 24]],
    ['keeps its history across a jump', [1, 2, 10, 2, 9, 9], [1, 2, 10, 9]],
  ])('%s', (_sentence, arriving, expected) => {
    expect(accepted(arriving)).toEqual(expected);
  });

  it('accepts each number at most once, in any order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 60 }), { maxLength: 60 }), (sequences) => {
        const passed = accepted(sequences);
        expect(new Set(passed).size).toBe(passed.length);
      }),
      { numRuns: 60 },
    );
  });
});

describe('outgoing packets', () => {
  it('are numbered from 1, each with its own number', () => {
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
