// Runs transfers in worker threads, so that they use all processors and do not block the rest of the appliance. The first
// transfer starts the first thread, more load starts more, and idle threads end after a while.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { batchCalls } from '../../net/udp/batched-socket.ts';
import { SLOT_BYTES } from '../../net/udp/datagram-batch.ts';
import type { TftpSettings } from './tftp-settings.ts';
import type { TransferOutcome } from './tftp-transfer.ts';
import { type FromThread, failedOutcome, type ThreadSetup, type ToThread } from './thread-messages.ts';
import { TransferActivity } from './transfer-activity.ts';
import type { RunningTransfer, TransferEvents, TransferOrder, Transfers } from './transfers.ts';

/** More threads than processors would not run in parallel. Each costs some megabytes. */
const MAX_THREADS = Math.min(8, availableParallelism());
/** Transfers per thread above which another thread is started. */
const TRANSFERS_PER_THREAD = 6;
const HEADER_BYTES = 4;

/** Each thread needs a port of its own, of any number. */
export const canUseThreads = ({ singlePort, transferPorts, maxBlockSize }: TftpSettings): boolean =>
  !singlePort && transferPorts === null && maxBlockSize + HEADER_BYTES <= SLOT_BYTES && batchCalls() !== null;

interface TransferThreadsDeps extends ThreadSetup {
  readonly threadIdleMs: number;
  readonly onFailure: (error: Error) => void;
}

export class TransferThreads implements Transfers {
  readonly #deps: TransferThreadsDeps;
  /** Threads that accept transfers. */
  readonly #threads = new Set<TransferThread>();
  /** All threads that have not ended. */
  readonly #alive = new Set<TransferThread>();
  #starting: Promise<TransferThread> | null = null;
  #stopped = false;

  constructor(deps: TransferThreadsDeps) {
    this.#deps = deps;
  }

  /** Each thread handles late packets on its own port. */
  hasJustEnded(): boolean {
    return false;
  }

  async begin(order: TransferOrder, events: TransferEvents): Promise<RunningTransfer> {
    const leastLoaded = [...this.#threads].sort((one, other) => one.size - other.size)[0];
    if (leastLoaded === undefined) {
      const thread = await this.#start();
      if (this.#stopped) throw new Error('the server is stopping');
      return thread.begin(order, events);
    }
    if (leastLoaded.size >= TRANSFERS_PER_THREAD && this.#threads.size < MAX_THREADS)
      this.#start().catch(this.#deps.onFailure);
    return leastLoaded.begin(order, events);
  }

  async stop(reason: string): Promise<void> {
    this.#stopped = true;
    await this.#starting?.catch(() => undefined);
    await Promise.all([...this.#alive].map((thread) => thread.stop(reason)));
  }

  /** One at a time. */
  #start(): Promise<TransferThread> {
    this.#starting ??= this.#startNow().finally(() => {
      this.#starting = null;
    });
    return this.#starting;
  }

  async #startNow(): Promise<TransferThread> {
    if (this.#stopped) throw new Error('the server is stopping');
    const { address, idleMs, rolloverTo, threadIdleMs, onFailure } = this.#deps;
    const thread = new TransferThread({ address, idleMs, rolloverTo });
    this.#alive.add(thread);
    thread.onGone = (failure) => {
      this.#threads.delete(thread);
      this.#alive.delete(thread);
      if (failure && thread.wasReady) onFailure(failure);
    };
    await thread.ready;
    this.#threads.add(thread);
    thread.onIdle = () => {
      // It gets no more transfers, so it can end without haste.
      this.#threads.delete(thread);
      void thread.stop('the thread was idle');
    };
    thread.endAfterIdle(threadIdleMs);
    return thread;
  }
}

/** One thread, as seen from the server. */
class TransferThread {
  /** Called after the idle time without a transfer. */
  onIdle: () => void = () => undefined;
  /** The thread has ended; null: on request. */
  onGone: (failure: Error | null) => void = () => undefined;
  readonly ready: Promise<void>;

  readonly #worker: Worker;
  readonly #gone: Promise<void>;
  readonly #transfers = new Map<number, TransferEvents>();
  /** Callbacks of forwarded packets, by transfer id. */
  readonly #forwarded = new Map<number, () => void>();
  #nextId = 1;
  /** How far its clock is behind ours; null: not reported yet. */
  #lag: number | null = null;
  #idleMs = Number.POSITIVE_INFINITY;
  #idleTimer: NodeJS.Timeout | null = null;

  constructor(setup: ThreadSetup) {
    const ready = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.#gone = gone.promise;
    let failure: Error | null = null;
    this.#worker = new Worker(new URL('./transfer-thread.ts', import.meta.url), { workerData: setup });
    this.#worker.on('message', (message: FromThread) => {
      this.#onMessage(message);
      if (message.event === 'ready') ready.resolve();
    });
    this.#worker.on('error', (error) => {
      failure = error instanceof Error ? error : new Error(String(error));
    });
    this.#worker.on('exit', () => {
      ready.reject(failure ?? new Error('the thread ended before it was ready'));
      this.#endAll();
      this.onGone(failure);
      gone.resolve();
    });
  }

  get wasReady(): boolean {
    return this.#lag !== null;
  }

  get size(): number {
    return this.#transfers.size;
  }

  endAfterIdle(milliseconds: number): void {
    this.#idleMs = milliseconds;
    this.#startIdleTimer();
  }

  begin(order: TransferOrder, events: TransferEvents): RunningTransfer {
    const id = this.#nextId;
    this.#nextId += 1;
    const activity = new TransferActivity();
    activity.lastPacketAt = this.#now();
    this.#transfers.set(id, events);
    this.#clearIdleTimer();
    this.#forward({ do: 'begin', id, order, activity: activity.memory });
    return {
      onRequestPort: (bytes, isOver) => {
        // One at a time: a client that does not wait for a reply must not fill the thread's queue. Clients retransmit.
        if (this.#forwarded.has(id)) return;
        this.#forwarded.set(id, isOver);
        this.#forward({ do: 'forward', id, bytes: bytes.slice() });
      },
      silentFor: () => this.#now() - activity.lastPacketAt,
      isAnswered: () => activity.isAnswered,
      abandon: (reason) => this.#forward({ do: 'abandon', id, reason }),
      drop: (reason) => this.#forward({ do: 'drop', id, reason }),
    };
  }

  /** Its transfers have ended, and onEnd was called for each, before this resolves. */
  async stop(reason: string): Promise<void> {
    this.#clearIdleTimer();
    this.#forward({ do: 'stop', reason });
    await this.#gone;
  }

  #forward(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #onMessage(message: FromThread): void {
    switch (message.event) {
      case 'ready':
        this.#lag = performance.now() - message.now;
        break;
      case 'stalled':
        this.#transfers.get(message.id)?.onStall(message.stall);
        break;
      case 'ended':
        this.#end(message.id, message.outcome);
        if (this.#transfers.size === 0) this.#startIdleTimer();
        break;
      case 'forwarded': {
        const isOver = this.#forwarded.get(message.id);
        this.#forwarded.delete(message.id);
        if (message.isOver) isOver?.();
        break;
      }
    }
  }

  #end(id: number, outcome: TransferOutcome): void {
    const events = this.#transfers.get(id);
    this.#transfers.delete(id);
    events?.onEnd(outcome);
  }

  /** Ends the transfers that a failed thread leaves behind. */
  #endAll(): void {
    for (const id of [...this.#transfers.keys()])
      this.#end(id, failedOutcome('the thread of this transfer has failed'));
  }

  /** The current time by the thread's clock. */
  #now(): number {
    return performance.now() - (this.#lag ?? 0);
  }

  #startIdleTimer(): void {
    this.#clearIdleTimer();
    if (Number.isFinite(this.#idleMs)) this.#idleTimer = setTimeout(() => this.onIdle(), this.#idleMs).unref();
  }

  #clearIdleTimer(): void {
    if (this.#idleTimer) clearTimeout(this.#idleTimer);
  }
}
