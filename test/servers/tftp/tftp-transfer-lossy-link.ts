// One direction of a network that loses, doubles and reorders packets, the same way every time for the same seed.

import type { VirtualTime } from './tftp-transfer-virtual-time.ts';

export interface LinkFaults {
  readonly seed: number;
  /** Probabilities, from 0 to 1. */
  readonly lose: number;
  readonly double: number;
  /** Each copy takes up to this much longer than the shortest one, so packets overtake each other. */
  readonly jitterMs: number;
}

/**
 * No packet is lost more than this often, whoever sends it again. A sender that tries five times then always gets
 * through: two losses of the block, two of its ACK.
 */
const MOST_LOSSES_OF_ONE_PACKET = 2;
const SHORTEST_TRIP_MS = 1;

export function lossyLink(
  time: VirtualTime,
  faults: LinkFaults,
  deliver: (bytes: Uint8Array) => void,
): (bytes: Uint8Array) => void {
  const random = randomFrom(faults.seed);
  const losses = new Map<number, number>();
  const travel = (bytes: Uint8Array) => time.after(SHORTEST_TRIP_MS + random() * faults.jitterMs, () => deliver(bytes));

  return (bytes) => {
    const identity = Buffer.from(bytes.subarray(0, 4)).readUInt32BE();
    const lost = losses.get(identity) ?? 0;
    if (lost < MOST_LOSSES_OF_ONE_PACKET && random() < faults.lose) {
      losses.set(identity, lost + 1);
      return;
    }
    // A copy: the sender may reuse its buffer as soon as it has handed it over and the peer has answered.
    travel(bytes.slice());
    if (random() < faults.double) travel(bytes.slice());
  };
}

/** A linear congruential generator: good enough to lose packets with, and the same on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
