// How many more bytes each address was sent than it sent itself, while it does not answer. The sender address of a request may be
// forged: then every reply goes to a victim, and is larger than the request. An address that answers owes nothing.

/** Enough for eight first blocks: a client on a bad cable repeats its request less often than that. */
const MOST_BYTES = 4096;
const FORGIVEN_PER_SECOND = 256;
/** When the younger generation is full, the older is dropped, without a search. */
const MOST_ADDRESSES = 8192;

interface Debt {
  readonly bytes: number;
  readonly at: number;
}

export class UnansweredBytes {
  #recent = new Map<number, Debt>();
  #earlier = new Map<number, Debt>();

  /** Whether a request from this address gets no reply now. `now`: in milliseconds. */
  isOver(address: number, now: number): boolean {
    return this.#owed(address, now) >= MOST_BYTES;
  }

  /** A reply is sent that is this much larger than its request. */
  charge(address: number, bytes: number, now: number): void {
    if (bytes <= 0) return;
    const debt = { bytes: this.#owed(address, now) + bytes, at: now };
    if (this.#recent.size >= MOST_ADDRESSES) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(address, debt);
  }

  /** The address has answered: somebody is there. */
  answered(address: number): void {
    this.#recent.delete(address);
    this.#earlier.delete(address);
  }

  #owed(address: number, now: number): number {
    const debt = this.#recent.get(address) ?? this.#earlier.get(address);
    if (debt === undefined) return 0;
    return Math.max(0, debt.bytes - ((now - debt.at) / 1000) * FORGIVEN_PER_SECOND);
  }
}
