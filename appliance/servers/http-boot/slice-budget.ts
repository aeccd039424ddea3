// Buffer memory for files sent from the disk: large slices for a few transfers, small ones for many, so that many slow readers
// use no more than a fixed amount.

const KIBIBYTE = 1024;
/** Slice sizes, one disk read each: larger gains nothing, smaller does not fill a link. */
const LARGEST = 256 * KIBIBYTE;
const SMALLEST = 16 * KIBIBYTE;
/** One slice is sent while the next is read. */
const PER_TRANSFER = 2;
/** A transfer takes this fraction of the remaining budget, so that it shrinks gradually. */
const FRACTION = 64;

export interface SliceGrant {
  /** Size of each slice. */
  readonly size: number;
  giveBack(): void;
}

export class SliceBudget {
  readonly #budget: number;
  #inUse = 0;

  constructor(budget = 64 * KIBIBYTE * KIBIBYTE) {
    this.#budget = budget;
  }

  get bytesInUse(): number {
    return this.#inUse;
  }

  /** `wanted`: bytes of the whole transfer. When the budget is used up, a transfer still gets the smallest size. */
  borrow(wanted: number): SliceGrant {
    let size = LARGEST;
    const share = (this.#budget - this.#inUse) / FRACTION;
    while (size > SMALLEST && size * PER_TRANSFER > share) size /= 2;
    size = Math.max(Math.min(size, wanted), 1);
    const bytes = size * PER_TRANSFER;
    this.#inUse += bytes;
    let isReturned = false;
    return {
      size,
      giveBack: () => {
        if (!isReturned) this.#inUse -= bytes;
        isReturned = true;
      },
    };
  }
}
