// How much each address has under way. One client that reads nothing must not take the place of all the others.

interface Counted {
  underWay: number;
  /** Turned away since somebody was last told. */
  refused: number;
  toldAt: number;
}

/** Between two lines about the same address. */
const TELL_EVERY_MS = 10_000;

export class PerAddressLimit {
  readonly #tell: (address: string, refused: number) => void;
  /** Only addresses that have something under way. */
  readonly #counts = new Map<string, Counted>();

  /** `tell`: that an address has been turned away so many times. */
  constructor(tell: (address: string, refused: number) => void) {
    this.#tell = tell;
  }

  /** False: it has the most that it may have. True: `leave` follows. `now`: in milliseconds. */
  enter(address: string, most: number, now: number): boolean {
    const count = this.#counts.get(address) ?? { underWay: 0, refused: 0, toldAt: Number.NEGATIVE_INFINITY };
    if (count.underWay < most) {
      count.underWay += 1;
      this.#counts.set(address, count);
      return true;
    }
    count.refused += 1;
    if (now - count.toldAt >= TELL_EVERY_MS) this.#tellOf(address, count, now);
    return false;
  }

  leave(address: string, now: number): void {
    const count = this.#counts.get(address);
    if (!count) return;
    count.underWay -= 1;
    if (count.underWay > 0) return;
    if (count.refused > 0) this.#tellOf(address, count, now);
    this.#counts.delete(address);
  }

  #tellOf(address: string, count: Counted, now: number): void {
    this.#tell(address, count.refused);
    count.refused = 0;
    count.toldAt = now;
  }
}
