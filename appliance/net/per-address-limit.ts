// Limits the operations in progress per address, so that one client that never reads cannot block all others.

interface Counted {
  underWay: number;
  /** Rejected since the last report. */
  refused: number;
  reportedAt: number;
}

/** Between two reports about the same address. */
const REPORT_EVERY_MS = 10_000;

export class PerAddressLimit {
  readonly #report: (address: string, refused: number) => void;
  /** Only addresses that have something under way. */
  readonly #counts = new Map<string, Counted>();

  /** `report`: an address was rejected this many times. */
  constructor(report: (address: string, refused: number) => void) {
    this.#report = report;
  }

  /** False: the address is at its limit. True: the caller must call `leave`. `now`: in milliseconds. */
  enter(address: string, most: number, now: number): boolean {
    const count = this.#counts.get(address) ?? { underWay: 0, refused: 0, reportedAt: Number.NEGATIVE_INFINITY };
    if (count.underWay < most) {
      count.underWay += 1;
      this.#counts.set(address, count);
      return true;
    }
    count.refused += 1;
    if (now - count.reportedAt >= REPORT_EVERY_MS) this.#reportRejected(address, count, now);
    return false;
  }

  leave(address: string, now: number): void {
    const count = this.#counts.get(address);
    if (!count) return;
    count.underWay -= 1;
    if (count.underWay > 0) return;
    if (count.refused > 0) this.#reportRejected(address, count, now);
    this.#counts.delete(address);
  }

  #reportRejected(address: string, count: Counted, now: number): void {
    this.#report(address, count.refused);
    count.refused = 0;
    count.reportedAt = now;
  }
}
