// The live view of the fleet: everything that changes, to everyone who listens. Commits only mark rows as changed; a few times per second the
// changed rows and the new events become text once, and all listeners get the same bytes. Nothing runs while nobody listens.

import { ColdironError } from '../../domain/errors.ts';
import { type Instant, SECOND } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { Store } from '../../store/store.ts';
import { Tick } from './compose.ts';
import { EventTail } from './event-tail.ts';
import { Listener, type Reader } from './listener.ts';
import { Observations } from './observations.ts';
import { RowBook } from './row-book.ts';
import { RecentFrames } from './sse.ts';
import { keyOf, type StreamedEvent, type StreamFilter, wantsEvent } from './stream-filter.ts';

export interface LiveDeps {
  readonly store: Pick<Store, 'events' | 'subscribe' | 'sessionsOf' | 'factsOf'>;
  readonly fleet: Fleet;
  readonly now: () => Instant;
  readonly setTimer: (delay: number, run: () => void) => { readonly cancel: () => void };
  /** Lets other work proceed. */
  readonly breathe: () => Promise<void>;
  readonly log: { error(fields: object, message: string): void };
  readonly limits?: Limits;
}

interface Limits {
  readonly listeners: number;
  /** One caller cannot keep all others out. */
  readonly perCaller: number;
}

export const LIMITS: Limits = { listeners: 2000, perCaller: 1200 };
const TICK = 250;
/** With many listeners a tick is longer, so that writing to all of them takes a small part of the time. */
const TICK_PER_LISTENER = 1;
/** The rest follows in the next tick. */
const ROWS_PER_TICK = 4000;
const EVENT_BATCHES_PER_TICK = 8;
/** Listeners that are written to without a pause. */
const SLICE = 50;
const ALLOWED_FOR = 10 * SECOND;
/** Kept in memory after the last listener left: most come back at once. */
const IDLE = 60 * SECOND;

interface Group {
  readonly filter: StreamFilter;
  readonly listeners: Set<Listener>;
}

interface Waiter {
  readonly after: number;
  readonly filter: StreamFilter;
  readonly wake: () => void;
}

export class LiveFeed {
  readonly #deps: LiveDeps;
  readonly #tail: EventTail;
  readonly #rows: RowBook;
  readonly #frames = new RecentFrames();
  readonly #observations: Observations;
  readonly #groups = new Map<string, Group>();
  readonly #allowedUntil = new Map<Listener, Instant>();
  readonly #waiters = new Set<Waiter>();
  readonly #dirty = new Set<MachineId>();
  #started: Promise<void> | null = null;
  #asleep: Promise<void> = Promise.resolve();
  #unobserve: () => void = () => {};
  #timer: { readonly cancel: () => void } | null = null;
  #turn: Promise<void> = Promise.resolve();
  #usedAt: Instant = 0;
  #isStopped = false;

  constructor(deps: LiveDeps) {
    const { store, fleet, now, log } = deps;
    this.#deps = deps;
    this.#tail = new EventTail({ store, fleet });
    const pause = (ms: number): Promise<void> =>
      new Promise((resolve) => {
        deps.setTimer(ms, resolve);
      });
    this.#observations = new Observations({ store, fleet, now, log, pause });
    this.#rows = new RowBook({ fleet, now, observed: (id) => this.#observations.of(id), breathe: deps.breathe });
  }

  get listeners(): number {
    return this.#allowedUntil.size;
  }

  /** Throws `too_many_streams`. */
  admit(actor: string): void {
    const { listeners, perCaller } = this.#deps.limits ?? LIMITS;
    if (this.listeners >= listeners) {
      throw new ColdironError('too_many_streams', `${listeners} event streams are open, which is the limit`);
    }
    let own = 0;
    for (const { reader } of this.#allowedUntil.keys()) if (reader.actor === actor) own += 1;
    if (own >= perCaller) {
      const most = `${perCaller} event streams, which is the limit for one caller`;
      throw new ColdironError('too_many_streams', `${actor} has opened ${most}`);
    }
  }

  /** Resolves when rows and the cursor are there. */
  async ready(): Promise<void> {
    this.#usedAt = this.#deps.now();
    this.#started ??= this.#start();
    await this.#started;
  }

  /** After `ready`. The caller reports `drained` and `left`; `after` as in `Listener.begin`. */
  listen(reader: Reader, after: number | null): Listener {
    this.admit(reader.actor);
    const { now, log } = this.#deps;
    const listener = new Listener(reader, { tail: this.#tail, rows: this.#rows, frames: this.#frames, now, log });
    const key = keyOf(reader.filter);
    const group = this.#groups.get(key) ?? { filter: reader.filter, listeners: new Set() };
    this.#groups.set(key, group);
    group.listeners.add(listener);
    this.#allowedUntil.set(listener, now() + ALLOWED_FOR);
    void listener.begin(after);
    return listener;
  }

  left(listener: Listener): void {
    listener.left();
    this.#allowedUntil.delete(listener);
    const key = keyOf(listener.reader.filter);
    const group = this.#groups.get(key);
    group?.listeners.delete(listener);
    if (group?.listeners.size === 0) this.#groups.delete(key);
    this.#usedAt = this.#deps.now();
  }

  /** The rows as JSON text, ordered by host name, and the number of the last event before them. */
  async snapshot(): Promise<{ readonly rows: readonly string[]; readonly cursor: number }> {
    await this.ready();
    const { cursor } = this.#tail;
    const entries = [...this.#rows.ids()].flatMap((id) => this.#rows.get(id) ?? []);
    entries.sort((a, b) => (a.hostname < b.hostname ? -1 : 1));
    return { rows: entries.map(({ json }) => json), cursor };
  }

  /** Resolves with the next event after `after` that matches, after `ms`, or when the caller has left. After `ready`. */
  next(after: number, filter: StreamFilter, ms: number, gone: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiter = { after, filter, wake: resolve };
    const timer = this.#deps.setTimer(ms, resolve);
    gone.addEventListener('abort', () => resolve(), { once: true });
    if (gone.aborted || this.#isStopped) resolve();
    this.#waiters.add(waiter);
    return promise.finally(() => {
      timer.cancel();
      this.#waiters.delete(waiter);
      this.#usedAt = this.#deps.now();
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const listener of [...this.#allowedUntil.keys()]) listener.end('the appliance stops');
    for (const { wake } of this.#waiters) wake();
    this.#timer?.cancel();
    await this.#turn;
    this.#fallAsleep();
    await this.#asleep;
  }

  async #start(): Promise<void> {
    await this.#asleep;
    // Marked from here on: a row that changes while all are built is built again.
    this.#unobserve = this.#deps.fleet.observe((changed) => this.#mark(changed));
    try {
      await this.#tail.start();
      await this.#rows.fill();
      this.#observations.start((id) => this.#dirty.add(id));
    } catch (error) {
      this.#started = null;
      this.#unobserve();
      throw error;
    }
    if (!this.#isStopped) this.#schedule();
  }

  /** Not during a tick. The next listener starts it again. */
  #fallAsleep(): void {
    const started = this.#started;
    this.#started = null;
    this.#asleep = (async () => {
      await started?.catch(() => undefined);
      this.#unobserve();
      await this.#observations.stop();
      this.#rows.clear();
      this.#frames.clear();
      this.#dirty.clear();
    })();
  }

  #mark(changed: readonly MachineId[] | null): void {
    if (changed !== null) {
      for (const id of changed) this.#dirty.add(id);
      return;
    }
    for (const id of this.#rows.ids()) this.#dirty.add(id);
    for (const { id } of this.#deps.fleet.machines()) this.#dirty.add(id);
  }

  #schedule(): void {
    const delay = Math.max(TICK, this.listeners * TICK_PER_LISTENER);
    this.#timer = this.#deps.setTimer(delay, () => {
      this.#turn = this.#tickThenSchedule();
    });
  }

  async #tickThenSchedule(): Promise<void> {
    this.#timer = null;
    try {
      await this.tick();
    } catch (err) {
      this.#deps.log.error({ err }, 'the event stream could not go on; its listeners are disconnected and resume');
      for (const listener of this.#allowedUntil.keys()) listener.cut();
    }
    if (this.#isStopped) return;
    const isIdle = this.listeners + this.#waiters.size === 0 && this.#deps.now() - this.#usedAt >= IDLE;
    if (isIdle) this.#fallAsleep();
    else this.#schedule();
  }

  /** One round: changed rows and new events to all listeners. Exposed for tests. */
  async tick(): Promise<void> {
    const from = this.#tail.cursor;
    const events = await this.#readEvents();
    const changes = this.#rows.refresh(this.#takeDirty());
    await this.#deliver(new Tick(changes, events, from));
    await this.#attend();
  }

  #takeDirty(): MachineId[] {
    const taken: MachineId[] = [];
    for (const id of this.#dirty) {
      this.#dirty.delete(id);
      const machine = this.#deps.fleet.machineById(id);
      if (machine) this.#observations.machineChanged(machine);
      else this.#observations.machineGone(id);
      taken.push(id);
      if (taken.length >= ROWS_PER_TICK) break;
    }
    return taken;
  }

  /** Fewer when the store fails: the rest follows in a later tick. */
  async #readEvents(): Promise<readonly StreamedEvent[]> {
    const events: StreamedEvent[] = [];
    try {
      for (let batch = 0; batch < EVENT_BATCHES_PER_TICK; batch += 1) {
        const read = await this.#tail.read();
        if (read.length === 0) break;
        events.push(...read);
        await this.#deps.breathe();
      }
    } catch (err) {
      this.#deps.log.error({ err }, 'cannot read the event log for the event stream; it is read again');
    }
    return events;
  }

  async #deliver(tick: Tick): Promise<void> {
    if (tick.isEmpty) return;
    for (const waiter of this.#waiters) {
      const { after, filter, wake } = waiter;
      if (tick.events.some((event) => event.seq > after && wantsEvent(filter, event))) wake();
    }
    let written = 0;
    for (const { filter, listeners } of [...this.#groups.values()]) {
      for (const shared of tick.framesFor(filter)) {
        const { plain } = shared.frame;
        const isPacked = [...listeners].some(({ reader }) => reader.packed);
        const packed = isPacked ? await shared.frame.packed() : plain;
        for (const listener of [...listeners]) {
          listener.offer(listener.reader.packed && isPacked ? packed : plain, shared);
          written += 1;
          if (written % SLICE === 0) await this.#deps.breathe();
        }
      }
    }
  }

  /** Heartbeats, slow readers, and callers that may not read any more. */
  async #attend(): Promise<void> {
    const now = this.#deps.now();
    for (const [listener, until] of [...this.#allowedUntil]) {
      listener.attend(now);
      if (listener.isOver || now < until) continue;
      this.#allowedUntil.set(listener, now + ALLOWED_FOR);
      if (!(await this.#isAllowed(listener))) listener.end('you may not read this any more');
    }
  }
  /** When the store cannot tell, the next question decides. */
  async #isAllowed({ reader }: Listener): Promise<boolean> {
    try {
      return await reader.stillAllowed();
    } catch (err) {
      this.#deps.log.error({ err }, 'cannot tell whether a listener may still read the event stream');
      return true;
    }
  }
}
