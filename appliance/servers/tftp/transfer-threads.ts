// Transfers in threads of their own, so that many machines are served by all processors and the rest of the appliance goes on
// undisturbed. The first thread comes with the first transfer, more with more, and they go when nothing was asked for a while.

import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { batchCalls } from '../../net/udp/batched-socket.ts';
import { SLOT_BYTES } from '../../net/udp/datagram-batch.ts';
import type { TftpSettings } from './tftp-settings.ts';
import type { TransferOutcome } from './tftp-transfer.ts';
import { type FromThread, failedOutcome, type ThreadSetup, type ToThread } from './thread-messages.ts';
import type { OnTransferEnd, RunningTransfer, TransferOrder, Transfers } from './transfers.ts';

/** More than there are processors only take turns. Each costs some megabytes. */
const MOST_THREADS = Math.min(8, availableParallelism());
/** Beyond so many transfers in each thread one more is worth its start. */
const SHARE = 6;
const HEADER_BYTES = 4;

/** Each thread has a port of its own, which has to be free to choose. */
export const canUseThreads = ({ singlePort, transferPorts, maxBlockSize }: TftpSettings): boolean =>
  !singlePort && transferPorts === null && maxBlockSize + HEADER_BYTES <= SLOT_BYTES && batchCalls() !== null;

interface TransferThreadsDeps extends ThreadSetup {
  readonly threadRestMs: number;
  readonly onFailure: (error: Error) => void;
}

export class TransferThreads implements Transfers {
  readonly #parts: TransferThreadsDeps;
  /** Those that take transfers. */
  readonly #threads = new Set<TransferThread>();
  /** All that have not ended. */
  readonly #alive = new Set<TransferThread>();
  #starting: Promise<TransferThread> | null = null;
  #stopped = false;

  constructor(parts: TransferThreadsDeps) {
    this.#parts = parts;
  }

  /** A thread answers for its own port. */
  hasJustEnded(): boolean {
    return false;
  }

  async begin(order: TransferOrder, onEnd: OnTransferEnd): Promise<RunningTransfer> {
    const idlest = [...this.#threads].sort((one, other) => one.size - other.size)[0];
    if (idlest === undefined) {
      const thread = await this.#start();
      if (this.#stopped) throw new Error('the server is stopping');
      return thread.begin(order, onEnd);
    }
    if (idlest.size >= SHARE && this.#threads.size < MOST_THREADS) this.#start().catch(this.#parts.onFailure);
    return idlest.begin(order, onEnd);
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
    const { address, idleMs, rolloverTo, threadRestMs, onFailure } = this.#parts;
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
      // From here on nobody gives it anything: it can end at leisure.
      this.#threads.delete(thread);
      void thread.stop('the thread rests');
    };
    thread.restAfter(threadRestMs);
    return thread;
  }
}

/** One thread, as seen from the server. */
class TransferThread {
  /** It had nothing to do for as long as was said. */
  onIdle: () => void = () => undefined;
  /** It has ended; null: as it was told to. */
  onGone: (failure: Error | null) => void = () => undefined;
  readonly ready: Promise<void>;

  readonly #worker: Worker;
  readonly #gone: Promise<void>;
  readonly #transfers = new Map<number, OnTransferEnd>();
  /** Who wants to know whether the transfer is over, by its number. */
  readonly #asking = new Map<number, () => void>();
  #nextId = 1;
  /** What its clock lags behind ours; null: it has not said yet. */
  #lag: number | null = null;
  #restMs = Number.POSITIVE_INFINITY;
  #rest: NodeJS.Timeout | null = null;

  constructor(setup: ThreadSetup) {
    const ready = Promise.withResolvers<void>();
    const gone = Promise.withResolvers<void>();
    this.ready = ready.promise;
    this.#gone = gone.promise;
    let failure: Error | null = null;
    this.#worker = new Worker(new URL('./transfer-thread.ts', import.meta.url), { workerData: setup });
    this.#worker.on('message', (message: FromThread) => {
      this.#heard(message);
      if (message.say === 'ready') ready.resolve();
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

  restAfter(milliseconds: number): void {
    this.#restMs = milliseconds;
    this.#restSoon();
  }

  begin(order: TransferOrder, onEnd: OnTransferEnd): RunningTransfer {
    const id = this.#nextId;
    this.#nextId += 1;
    const heardAt = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
    heardAt[0] = this.#now();
    this.#transfers.set(id, onEnd);
    this.#restLater();
    this.#tell({ do: 'begin', id, order, heardAt });
    return {
      onRequestPort: (bytes, isOver) => {
        // One at a time: a client that does not wait for an answer must not fill the thread's queue. What matters comes again.
        if (this.#asking.has(id)) return;
        this.#asking.set(id, isOver);
        this.#tell({ do: 'tell', id, bytes: bytes.slice() });
      },
      silentFor: () => this.#now() - (heardAt[0] ?? 0),
      abandon: (reason) => this.#tell({ do: 'abandon', id, reason }),
    };
  }

  /** Its transfers are ended, and their ends told, before this resolves. */
  async stop(reason: string): Promise<void> {
    this.#restLater();
    this.#tell({ do: 'stop', reason });
    await this.#gone;
  }

  #tell(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  #heard(message: FromThread): void {
    switch (message.say) {
      case 'ready':
        this.#lag = performance.now() - message.now;
        break;
      case 'ended':
        this.#end(message.id, message.outcome);
        if (this.#transfers.size === 0) this.#restSoon();
        break;
      case 'told': {
        const isOver = this.#asking.get(message.id);
        this.#asking.delete(message.id);
        if (message.isOver) isOver?.();
        break;
      }
    }
  }

  #end(id: number, outcome: TransferOutcome): void {
    const onEnd = this.#transfers.get(id);
    this.#transfers.delete(id);
    onEnd?.(outcome);
  }

  /** Those that a thread leaves behind that has failed. */
  #endAll(): void {
    for (const id of [...this.#transfers.keys()]) this.#end(id, failedOutcome('the thread that sent it has failed'));
  }

  /** By its clock. */
  #now(): number {
    return performance.now() - (this.#lag ?? 0);
  }

  #restSoon(): void {
    this.#restLater();
    if (Number.isFinite(this.#restMs)) this.#rest = setTimeout(() => this.onIdle(), this.#restMs).unref();
  }

  #restLater(): void {
    if (this.#rest) clearTimeout(this.#rest);
  }
}
