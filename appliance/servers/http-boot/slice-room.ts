// Memory for files that are sent from the disk: large slices for a few transfers, small ones for many, so that a crowd of slow
// readers takes no more than a fixed amount.

const KIBIBYTE = 1024;
/** As large as pays off, and as small as still fills a link: one read of the disk for each. */
const LARGEST = 256 * KIBIBYTE;
const SMALLEST = 16 * KIBIBYTE;
/** One is sent while the next is read. */
const PER_TRANSFER = 2;
/** A transfer takes this part of what is left, so that the room never ends at once. */
const PART = 64;

export interface SliceLoan {
  /** How large each slice may be. */
  readonly size: number;
  giveBack(): void;
}

export class SliceRoom {
  readonly #room: number;
  #lent = 0;

  constructor(room = 64 * KIBIBYTE * KIBIBYTE) {
    this.#room = room;
  }

  get lentBytes(): number {
    return this.#lent;
  }

  /** `wanted`: bytes of the whole transfer. Beyond the room everybody still gets the smallest size. */
  borrow(wanted: number): SliceLoan {
    let size = LARGEST;
    const share = (this.#room - this.#lent) / PART;
    while (size > SMALLEST && size * PER_TRANSFER > share) size /= 2;
    size = Math.max(Math.min(size, wanted), 1);
    const bytes = size * PER_TRANSFER;
    this.#lent += bytes;
    let isBack = false;
    return {
      size,
      giveBack: () => {
        if (!isBack) this.#lent -= bytes;
        isBack = true;
      },
    };
  }
}
