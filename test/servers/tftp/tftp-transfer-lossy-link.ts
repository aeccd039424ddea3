// One direction of a network that loses, duplicates and reorders packets, deterministically for a seed.

import type { VirtualTime } from './tftp-transfer-virtual-time.ts';

export interface LinkFaults {
  readonly seed: number;
  /** Probabilities, from 0 to 1. */
  readonly lose: number;
  readonly double: number;
  /** Each copy is delayed by up to this much, so packets are reordered. */
  readonly jitterMs: number;
}

/**
 * No packet is lost more than this often. A sender that tries five times then always succeeds: two losses of the block, two
 * of its ACK.
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
    // A copy: the sender may reuse its buffer after the peer has answered.
    travel(bytes.slice());
    if (random() < faults.double) travel(bytes.slice());
  };
}

/** A linear congruential generator: sufficient for packet loss, and the same on every machine. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
