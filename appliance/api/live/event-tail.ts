// The end of the event log, read once for all listeners. The newest events stay in memory as text, so that most listeners resume without
// reading the store. The number of an event is its place in commit order, so a cursor skips nothing, whichever process wrote it.

import type { StoredEvent } from '../../domain/event.ts';
import { severityOf } from '../../domain/events/known-event.ts';
import { plainLine } from '../../domain/plain-line.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { Store } from '../../store/store.ts';
import { eventView } from '../views/trail.ts';
import { messageText } from './sse.ts';
import type { StreamedEvent, StreamFilter } from './stream-filter.ts';

interface Deps {
  readonly store: Pick<Store, 'events'>;
  readonly fleet: Pick<Fleet, 'machineEverKnown'>;
}

/** Read at once; the store answers in the thread of the boot servers. */
const BATCH = 500;
const MOST_KEPT = 5000;
const MOST_KEPT_BYTES = 4 * 1024 * 1024;

export interface Replay {
  readonly events: readonly StreamedEvent[];
  /** Everything up to here was looked at. */
  readonly upTo: number;
  /** False: there is more. */
  readonly complete: boolean;
}

export class EventTail {
  readonly #deps: Deps;
  #kept: StreamedEvent[] = [];
  #keptBytes = 0;
  /** Every event after this number, up to the cursor, is kept. */
  #keptAfter = 0;
  #cursor = 0;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** The number of the last event that was read. */
  get cursor(): number {
    return this.#cursor;
  }

  async start(): Promise<void> {
    const [newest] = await this.#deps.store.events({ limit: 1, newest: true });
    this.#cursor = newest?.seq ?? 0;
    this.#kept = [];
    this.#keptBytes = 0;
    this.#keptAfter = this.#cursor;
  }

  /** The next events, in order; at most one batch. */
  async read(): Promise<readonly StreamedEvent[]> {
    const events = (await this.#deps.store.events({ after: this.#cursor, limit: BATCH })).map(this.#streamed);
    this.#cursor = events.at(-1)?.seq ?? this.#cursor;
    this.#keep(events);
    return events;
  }

  /** What follows an event, for a listener that is not up to date. */
  async since(after: number, { machine, kind }: StreamFilter): Promise<Replay> {
    if (after >= this.#keptAfter) {
      const events = this.#kept.slice(this.#indexAfter(after));
      return { events, upTo: Math.max(after, this.#cursor), complete: true };
    }
    const cursor = this.#cursor;
    const query = { after, limit: BATCH, ...(machine !== null && { machine }), ...(kind !== null && { kind }) };
    const events = (await this.#deps.store.events(query)).map(this.#streamed);
    const complete = events.length < BATCH;
    const last = events.at(-1)?.seq ?? after;
    return { events, upTo: complete ? Math.max(last, cursor) : last, complete };
  }

  /** Why a listener cannot go on after this event; null: it can. */
  async gapAfter(after: number): Promise<string | null> {
    if (after > this.#cursor)
      return `the log ends with event ${this.#cursor}: it is not the log that had event ${after}`;
    if (after >= this.#keptAfter) return null;
    const [oldest] = await this.#deps.store.events({ limit: 1 });
    if (oldest === undefined || oldest.seq <= after + 1) return null;
    return `events up to ${oldest.seq - 1} were deleted, as the retention of the site says`;
  }

  readonly #streamed = (event: StoredEvent): StreamedEvent => {
    const { seq, machine, kind } = event;
    const { fleet } = this.#deps;
    return {
      ...{ seq, machine, kind, severity: severityOf(kind) },
      site: machine === null ? null : (fleet.machineEverKnown(machine)?.spec.site ?? null),
      // Escapes of JSON: the value stays the same, and a terminal that shows the stream obeys nothing in it.
      text: messageText('event', plainLine(JSON.stringify(eventView(event, fleet))), seq),
    };
  };

  #keep(events: readonly StreamedEvent[]): void {
    for (const event of events) this.#keptBytes += event.text.length;
    this.#kept.push(...events);
    let dropped = 0;
    while (this.#kept.length - dropped > MOST_KEPT || this.#keptBytes > MOST_KEPT_BYTES) {
      const oldest = this.#kept[dropped];
      if (oldest === undefined) break;
      this.#keptBytes -= oldest.text.length;
      this.#keptAfter = oldest.seq;
      dropped += 1;
    }
    if (dropped > 0) this.#kept = this.#kept.slice(dropped);
  }

  #indexAfter(seq: number): number {
    let low = 0;
    let high = this.#kept.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#kept[middle]?.seq ?? 0) > seq) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
