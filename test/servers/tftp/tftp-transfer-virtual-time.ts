// Virtual time: it advances only to the next event.

export class VirtualTime {
  #now = 0;
  #order = 0;
  /** A binary heap, the earliest first; events at the same time keep their order. */
  readonly #heap: { readonly at: number; readonly order: number; readonly run: () => void }[] = [];

  get now(): number {
    return this.#now;
  }

  after(delayMs: number, run: () => void): void {
    const heap = this.#heap;
    heap.push({ at: this.#now + delayMs, order: this.#order++, run });
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#swapIfBefore(child, parent)) break;
      child = parent;
    }
  }

  /** Runs until no event is left, or `until` returns true. Peers that never finish are a failure. */
  run(until: () => boolean, mostEvents: number): void {
    for (let events = 0; !until(); events += 1) {
      if (events === mostEvents) throw new Error(`no end after ${mostEvents} events`);
      const next = this.#takeFirst();
      if (!next) return;
      this.#now = next.at;
      next.run();
    }
  }

  #takeFirst() {
    const heap = this.#heap;
    const first = heap[0];
    const end = heap.pop();
    if (heap.length === 0 || !end) return first;
    heap[0] = end;
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1;
      const right = left + 1;
      const child = right < heap.length && this.#isBefore(right, left) ? right : left;
      if (child >= heap.length || !this.#swapIfBefore(child, parent)) return first;
      parent = child;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const a = this.#heap[one];
    const b = this.#heap[other];
    if (!a || !b) return false;
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }

  #swapIfBefore(child: number, parent: number): boolean {
    const a = this.#heap[child];
    const b = this.#heap[parent];
    if (!a || !b || !this.#isBefore(child, parent)) return false;
    this.#heap[child] = b;
    this.#heap[parent] = a;
    return true;
  }
}

/** One timer that is reset repeatedly. It leaves at most a few entries in the queue. */
export class Alarm {
  readonly #time: VirtualTime;
  #due = Number.POSITIVE_INFINITY;
  #queuedFor = Number.POSITIVE_INFINITY;
  #run: () => void = () => undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  set(afterMs: number, run: () => void): void {
    this.#due = this.#time.now + afterMs;
    this.#run = run;
    if (this.#due < this.#queuedFor) this.#queue();
  }

  stop(): void {
    this.#due = Number.POSITIVE_INFINITY;
  }

  #queue(): void {
    const due = this.#due;
    this.#queuedFor = due;
    this.#time.after(due - this.#time.now, () => {
      if (this.#queuedFor !== due) return;
      this.#queuedFor = Number.POSITIVE_INFINITY;
      if (this.#due === due) {
        this.#due = Number.POSITIVE_INFINITY;
        this.#run();
      } else if (this.#due < Number.POSITIVE_INFINITY) {
        this.#queue();
      }
    });
  }
}
