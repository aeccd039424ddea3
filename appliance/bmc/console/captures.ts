// Keeps the captures in line with the machines: follows the commits of the store, and starts and stops captures as the policy says.

import type { ConsoleSignature } from '../../domain/console/signature.ts';
import { type NewEvent, newEvent } from '../../domain/event.ts';
import { type Instant, SECOND } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Publication } from '../../store/change.ts';
import type { Store } from '../../store/store.ts';
import { type BmcClock, pause } from '../clock.ts';
import { Capture } from './capture.ts';
import { type CaptureWish, captureWish, grantedWishes } from './capture-policy.ts';
import type { ConsoleFiles } from './console-files.ts';
import type { ConsoleSeat } from './console-seat.ts';
import type { Follower } from './shared-console.ts';

export interface CapturesDeps {
  readonly store: Pick<Store, 'appendEvents' | 'subscribe'>;
  readonly clock: BmcClock;
  readonly files: ConsoleFiles;
  readonly machines: () => Iterable<Machine>;
  readonly current: (machine: MachineId) => Machine | null;
  /** The address of a BMC with a console that may be used; null: there is none. */
  readonly consoleOf: (machine: Machine) => string | null;
  readonly follow: (machine: Machine, follower: Follower) => ConsoleSeat;
  readonly log: { warn(fields: object, message: string): void };
  /** Most captures at once. Default: 1000. */
  readonly most?: number;
}

/** About 400 kB each while they print. */
const MOST_AT_ONCE = 1000;
/** A machine is not kept waiting for its console longer than this. */
const WAIT_BEFORE_START = 5 * SECOND;

interface Running {
  readonly capture: Capture;
  /** The BMC that it reads. */
  readonly address: string;
}

export class Captures {
  readonly #deps: CapturesDeps;
  readonly #wishes = new Map<MachineId, CaptureWish>();
  readonly #running = new Map<MachineId, Running>();
  /** Captures that gave up, and since when the machine was in its state: its next state is another chance. */
  readonly #gaveUp = new Map<MachineId, Instant>();
  readonly #stopping = new Set<Promise<void>>();
  #unsubscribe: () => void = () => undefined;
  #cancelTimer: () => void = () => undefined;
  #stopped = false;

  constructor(deps: CapturesDeps) {
    this.#deps = deps;
  }

  start(): void {
    this.#unsubscribe = this.#deps.store.subscribe((publication) => this.#onCommit(publication));
    this.#considerAll();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelTimer();
    for (const machine of [...this.#running.keys()]) this.#end(machine);
    await Promise.all(this.#stopping);
  }

  get size(): number {
    return this.#running.size;
  }

  /** Null: not captured now. */
  capture(machine: MachineId): Pick<Capture, 'unfinished' | 'isOpen'> | null {
    return this.#running.get(machine)?.capture ?? null;
  }

  /** Before a power command: the console should be open when the machine starts. Waits some seconds at most. */
  async beforeStart(machine: MachineId): Promise<void> {
    const running = this.#running.get(machine);
    if (running) await Promise.race([running.capture.ready, pause(this.#deps.clock, WAIT_BEFORE_START)]);
  }

  /** What the machine says next belongs to another boot. */
  expectBoot(machine: MachineId): void {
    this.#running.get(machine)?.capture.expectBoot();
  }

  #onCommit({ machine }: Publication): void {
    if (machine === null) {
      this.#considerAll();
      return;
    }
    if (this.#consider(machine)) this.#settle();
  }

  #considerAll(): void {
    for (const machine of this.#deps.machines()) this.#consider(machine);
    for (const id of [...this.#wishes.keys()]) if (this.#deps.current(id) === null) this.#wishes.delete(id);
    this.#settle();
  }

  /** Whether anything has to start or end. */
  #consider(machine: Machine): boolean {
    const { clock, files, consoleOf } = this.#deps;
    const before = this.#wishes.get(machine.id) ?? null;
    const address = consoleOf(machine);
    if (this.#gaveUp.get(machine.id) !== machine.lifecycle.since) this.#gaveUp.delete(machine.id);
    const possible = address !== null && !this.#gaveUp.has(machine.id);
    const wish = possible ? captureWish(machine, before, clock.now()) : null;
    if (wish) this.#wishes.set(machine.id, wish);
    else this.#wishes.delete(machine.id);
    if (machine.lifecycle.state === 'removed') {
      this.#end(machine.id);
      this.#track(files.remove(machine.id));
    }
    const running = this.#running.get(machine.id);
    const same = before?.until === wish?.until && before?.byHand === wish?.byHand;
    return !same || (running !== undefined && running.address !== address);
  }

  /** Starts and ends captures, so that the granted wishes are the running ones. */
  #settle(): void {
    if (this.#stopped) return;
    const { clock, most = MOST_AT_ONCE, current, consoleOf } = this.#deps;
    const now = clock.now();
    for (const [id, { until }] of this.#wishes) if (until !== null && until <= now) this.#wishes.delete(id);
    const granted = new Map(grantedWishes(this.#wishes.values(), most).map((wish) => [wish.machine, wish]));
    for (const [id, { address }] of [...this.#running]) {
      const machine = current(id);
      if (!granted.has(id) || machine === null || consoleOf(machine) !== address) this.#end(id);
    }
    for (const id of granted.keys()) {
      const machine = current(id);
      const address = machine && consoleOf(machine);
      if (machine && address !== null && !this.#running.has(id)) this.#begin(machine, address);
    }
    this.#setTimer();
  }

  #setTimer(): void {
    this.#cancelTimer();
    const next = [...this.#wishes.values()].reduce((least, { until }) => Math.min(least, until ?? Infinity), Infinity);
    if (next !== Infinity) this.#cancelTimer = this.#deps.clock.wakeAt(next, () => this.#settle());
  }

  #begin(machine: Machine, address: string): void {
    const { clock, files, follow } = this.#deps;
    const capture = new Capture({
      clock,
      writer: files.writer(machine.id),
      follow: (follower) => follow(machine, follower),
      matched: ({ id, stage }: ConsoleSignature, line) =>
        this.#record(newEvent(this.#frame(machine), 'console.matched', { signature: id, stage, line })),
      unavailable: (because) => this.#record(newEvent(this.#frame(machine), 'console.not-captured', { because })),
      gaveUp: () => this.#giveUp(machine.id),
    });
    this.#running.set(machine.id, { capture, address });
  }

  #giveUp(id: MachineId): void {
    this.#gaveUp.set(id, this.#deps.current(id)?.lifecycle.since ?? 0);
    this.#wishes.delete(id);
    this.#end(id);
  }

  /** As a machine: its limits apply to what it prints. */
  #frame({ id, spec }: Machine) {
    return { at: this.#deps.clock.now(), actor: `machine:${spec.hostname}`, machine: id, correlationId: null };
  }

  #record(event: NewEvent): void {
    const { store, log } = this.#deps;
    const written = store.appendEvents([event]).catch((error: unknown) => {
      log.warn({ err: error, kind: event.kind }, 'an event of a console could not be stored');
    });
    this.#track(written);
  }

  #end(machine: MachineId): void {
    const running = this.#running.get(machine);
    if (!running) return;
    this.#running.delete(machine);
    this.#track(running.capture.stop().then(() => this.#releaseFiles(machine)));
  }

  async #releaseFiles(machine: MachineId): Promise<void> {
    if (!this.#running.has(machine)) await this.#deps.files.release(machine);
  }

  #track(work: Promise<void>): void {
    const tracked = work.catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'the capture of a console did not end cleanly');
    });
    this.#stopping.add(tracked);
    void tracked.finally(() => this.#stopping.delete(tracked));
  }
}
