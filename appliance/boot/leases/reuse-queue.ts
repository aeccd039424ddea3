// Which address becomes free next: a binary heap by the time each becomes free. Each address is in it once and
// moves when its lease is renewed, so that renewals leave no stale entries.

import type { Instant } from '../../domain/instant.ts';

export interface Reusable {
  freeAt: Instant;
  /** Its place in the heap; -1: not in the heap. */
  heapIndex: number;
}

export class ReuseQueue<Item extends Reusable> {
  readonly #heap: Item[] = [];

  /** The one that is free first, whether or not it is free yet. */
  first(): Item | undefined {
    return this.#heap[0];
  }

  /** Inserts it, or moves it to its new time. */
  place(item: Item, freeAt: Instant): void {
    const earlier = freeAt < item.freeAt;
    item.freeAt = freeAt;
    if (item.heapIndex < 0) {
      item.heapIndex = this.#heap.push(item) - 1;
      this.#rise(item);
    } else if (earlier) this.#rise(item);
    else this.#sink(item);
  }

  #rise(item: Item): void {
    const heap = this.#heap;
    let at = item.heapIndex;
    while (at > 0) {
      const parent = heap[(at - 1) >> 1];
      if (parent === undefined || parent.freeAt <= item.freeAt) break;
      this.#put(parent, at);
      at = (at - 1) >> 1;
    }
    this.#put(item, at);
  }

  #sink(item: Item): void {
    const heap = this.#heap;
    let at = item.heapIndex;
    for (;;) {
      const left = heap[2 * at + 1];
      const right = heap[2 * at + 2];
      const child = right !== undefined && left !== undefined && right.freeAt < left.freeAt ? right : left;
      if (child === undefined || child.freeAt >= item.freeAt) break;
      const below = child.heapIndex;
      this.#put(child, at);
      at = below;
    }
    this.#put(item, at);
  }

  #put(item: Item, at: number): void {
    this.#heap[at] = item;
    item.heapIndex = at;
  }
}
