// A live feed over a fleet and an event log in memory, with a clock that the test moves, and readers that can stop reading.

import { setImmediate } from 'node:timers/promises';
import type { Listener } from '../../../appliance/api/live/listener.ts';
import { LiveFeed } from '../../../appliance/api/live/live-feed.ts';
import type { StreamFilter } from '../../../appliance/api/live/stream-filter.ts';
import { SseReader } from '../../../appliance/cli/sse-reader.ts';
import type { StoredEvent } from '../../../appliance/domain/event.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { Machine, MachineId } from '../../../appliance/domain/machine.ts';
import { parseHostname, parseObjectName } from '../../../appliance/domain/names.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import type { Publication, Subscriber } from '../../../appliance/store/change.ts';
import type { Store } from '../../../appliance/store/store.ts';
import { aLife, aMachine, machineId, T0 } from '../../machines/machines.ts';

export const EVERYTHING: StreamFilter = {
  ...{ machine: null, site: null, kind: null, severity: 'info', rows: true, events: true },
};

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

export class LiveWorld {
  readonly fleet = new Fleet();
  readonly log: StoredEvent[] = [];
  readonly errors: object[] = [];
  readonly feed: LiveFeed;
  /** Reads of the event log. */
  reads = 0;
  /** The store rejects reads of the log. */
  isBroken = false;
  now = T0;
  readonly #subscribers = new Set<Subscriber>();
  readonly #timers = new Set<Timer>();
  #revision = 0;
  #seq = 0;

  constructor(machines: number, facts: Store['factsOf'] = async () => []) {
    for (let n = 1; n <= machines; n += 1) this.put(n, 'registered');
    this.feed = new LiveFeed({
      store: {
        events: async (query) => this.#events(query),
        subscribe: (subscriber) => {
          this.#subscribers.add(subscriber);
          return () => void this.#subscribers.delete(subscriber);
        },
        sessionsOf: async () => [],
        factsOf: facts,
      },
      fleet: this.fleet,
      now: () => this.now,
      setTimer: (delay, run) => {
        const timer = { at: this.now + delay, run };
        this.#timers.add(timer);
        return { cancel: () => void this.#timers.delete(timer) };
      },
      breathe: () => setImmediate(),
      log: { error: (fields) => void this.errors.push(fields) },
    });
  }

  get timers(): number {
    return this.#timers.size;
  }

  #events({ after = 0, limit, newest, machine, kind }: Parameters<Store['events']>[0]): StoredEvent[] {
    this.reads += 1;
    if (this.isBroken) throw new Error('the disk is gone');
    const found = this.log.filter(
      (event) =>
        event.seq > after &&
        (machine === undefined || event.machine === machine) &&
        (kind === undefined || event.kind === kind || event.kind.startsWith(`${kind}.`)),
    );
    return newest ? found.slice(-limit) : found.slice(0, limit);
  }

  put(number: number, state: LifecycleState, changes: Partial<Machine['spec']> = {}): Machine {
    const base = aMachine({ number: Math.min(number, 99), lifecycle: aLife(state, { since: this.now }) });
    const spec = { ...base.spec, hostname: hostname(`node${String(number).padStart(2, '0')}`), ...changes };
    this.#revision += 1;
    const machine = { ...base, id: machineId(number), spec, version: this.#revision };
    this.fleet.update([machine], { revision: this.#revision, declaredRevision: 0 });
    return machine;
  }

  publish(publication: Partial<Publication>): void {
    for (const subscriber of this.#subscribers) {
      void subscriber({ change: null, machine: null, revision: this.#revision, events: [], ...publication });
    }
  }

  append(kind: string, machine: MachineId | null = null): number {
    this.#seq += 1;
    this.log.push({
      ...{ seq: this.#seq, at: this.now, kind, actor: 'appliance', machine, correlationId: null },
      data: { intent: `intent ${this.#seq}` },
    });
    return this.#seq;
  }

  /** Retention. */
  trim(upTo: number): void {
    while ((this.log[0]?.seq ?? Number.POSITIVE_INFINITY) <= upTo) this.log.shift();
  }

  /** Moves the clock, and lets everything that is due run to its end. */
  async pass(ms: number): Promise<void> {
    const end = this.now + ms;
    for (;;) {
      await settle();
      const [next] = [...this.#timers].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      this.#timers.delete(next);
      this.now = Math.max(this.now, next.at);
      next.run();
    }
    this.now = end;
    await settle();
  }

  async open(
    filter: Partial<StreamFilter> = {},
    after: number | null = null,
    actor = 'token:test',
  ): Promise<TestReader> {
    await this.pass(0);
    const ready = this.feed.ready();
    await this.pass(0);
    await ready;
    const reader = new TestReader(this.feed, { ...EVERYTHING, ...filter }, actor);
    reader.begin(after);
    await settle();
    return reader;
  }
}

export const hostname = (text: string) => mustParse(parseHostname(text));
export const site = (text: string) => mustParse(parseObjectName(text));

async function settle(): Promise<void> {
  for (let round = 0; round < 30; round += 1) await setImmediate();
}

export interface Seen {
  readonly event: string;
  readonly data: unknown;
}

export class TestReader {
  readonly messages: Seen[] = [];
  readonly events: number[] = [];
  /** By host name, as a client keeps them. */
  readonly rows = new Map<string, Record<string, unknown>>();
  /** Bytes of each write that was not read yet. */
  waiting: number[] = [];
  isAllowed = true;
  isEnded = false;
  isCut = false;
  text = '';
  readonly #feed: LiveFeed;
  readonly #filter: StreamFilter;
  readonly #actor: string;
  readonly #reader = new SseReader();
  #listener: Listener | null = null;
  #reads = true;

  constructor(feed: LiveFeed, filter: StreamFilter, actor: string) {
    this.#feed = feed;
    this.#filter = filter;
    this.#actor = actor;
  }

  begin(after: number | null): void {
    const sink = {
      write: (bytes: Buffer) => this.#take(bytes),
      end: () => {
        this.isEnded = true;
        this.leave();
      },
      cut: () => {
        this.isCut = true;
        this.leave();
      },
    };
    const stillAllowed = async () => this.isAllowed;
    const reader = { filter: this.#filter, sink, packed: false, actor: this.#actor, stillAllowed };
    this.#listener = this.#feed.listen(reader, after);
  }

  get lastId(): number | null {
    return this.#reader.lastId === '' ? null : Number(this.#reader.lastId);
  }

  named(event: string): unknown[] {
    return this.messages.filter((message) => message.event === event).map(({ data }) => data);
  }

  stopReading(): void {
    this.#reads = false;
  }

  readAgain(): void {
    this.#reads = true;
    this.waiting = [];
    this.#listener?.drained();
  }

  leave(): void {
    if (this.#listener) this.#feed.left(this.#listener);
    this.#listener = null;
  }

  /** What was written arrives, also when the reader reads later. */
  #take(bytes: Buffer): boolean {
    if (!this.#reads) this.waiting.push(bytes.length);
    this.text += bytes.toString();
    for (const { event, data } of this.#reader.read(bytes.toString())) this.#see(event, JSON.parse(data));
    return this.#reads;
  }

  #see(event: string, data: unknown): void {
    this.messages.push({ event, data });
    if (event === 'event') this.events.push((data as { seq: number }).seq);
    if (event === 'gone') for (const name of data as string[]) this.rows.delete(name);
    if (event === 'nodes') {
      for (const row of data as { hostname: string }[]) this.rows.set(row.hostname, { ...row });
    }
  }
}
