// One receiver: reads the event log after its cursor, delivers, and moves the cursor. The cursor moves after the delivery, so that an
// event is sent again after a crash in between, and none is lost. It reads the log by itself, so it never slows a commit.

import type { NewEvent, StoredEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { DeadLetter, ExportCursor, ExportStore } from '../store/export-store.ts';
import type { Store } from '../store/store.ts';
import { retryDelay } from './back-off.ts';
import { messageOf, type NodeLookup } from './message.ts';
import type { Delivery, Failure } from './outcome.ts';
import { type Batch, type PlannedMessage, planBatch } from './select.ts';
import type { ReceiverSettings } from './settings.ts';

/** Attempts for an event that a working receiver refuses: about 15 seconds. */
const MOST_ATTEMPTS = 5;
/** Failures in a row before a receiver counts as unreachable: a restart of it is no problem worth an event. */
const FAILURES_OF_A_PROBLEM = 3;
/** The oldest ones are deleted. */
export const MOST_DEAD_LETTERS = 10_000;
const READ_AT_ONCE = 200;
const REPLAYS_AT_ONCE = 20;
/** A turn ends after so many batches, so that a stop does not wait for a long backlog. */
const BATCHES_PER_TURN = 50;

export interface ReceiverDeps {
  readonly settings: ReceiverSettings;
  readonly delivery: Delivery;
  readonly store: Pick<Store, 'events'> & ExportStore;
  readonly lookUp: NodeLookup;
  readonly now: () => Instant;
  readonly random: () => number;
  readonly newId: () => string;
  readonly log: { warn(fields: object, message: string): void; info(fields: object, message: string): void };
}

/** What is known about the deliveries of this process. */
export interface ReceiverCondition {
  readonly failures: number;
  readonly failingSince: Instant | null;
  readonly lastError: string | null;
  readonly lastSuccess: Instant | null;
  /** Null: it is not waiting. */
  readonly nextAttempt: Instant | null;
}

export class Receiver {
  readonly settings: ReceiverSettings;
  readonly #deps: ReceiverDeps;
  readonly #stopped = new AbortController();
  #cursor: ExportCursor | null = null;
  #condition: ReceiverCondition = {
    failures: 0,
    failingSince: null,
    lastError: null,
    lastSuccess: null,
    nextAttempt: null,
  };
  /** The message that is refused, and how often it was. */
  #refused: { readonly id: string; readonly attempts: number } | null = null;
  /** Up to this event, messages are sent one by one: one of them was refused together with others. */
  #oneByOneUpTo = 0;

  constructor(deps: ReceiverDeps) {
    this.#deps = deps;
    this.settings = deps.settings;
  }

  get condition(): ReceiverCondition {
    return this.#condition;
  }

  get isUnreachable(): boolean {
    return this.#condition.failures >= FAILURES_OF_A_PROBLEM;
  }

  /** Delivers what waits, unless it is too early for the next attempt. Rejects when the store fails. */
  async turn(): Promise<void> {
    for (let batch = 0; batch < BATCHES_PER_TURN; batch += 1) {
      if (this.#isTooEarly()) return;
      const replayed = await this.#replay();
      if (this.#isTooEarly()) return;
      if (!(await this.#next()) && !replayed) return;
    }
  }

  /** The next attempt may be made at once: somebody has repaired something. */
  tryNow(): void {
    this.#condition = { ...this.#condition, nextAttempt: null };
  }

  stop(): void {
    this.#stopped.abort();
    this.#deps.delivery.close();
  }

  #isTooEarly(): boolean {
    const { nextAttempt } = this.#condition;
    return this.#stopped.signal.aborted || (nextAttempt !== null && this.#deps.now() < nextAttempt);
  }

  async #start(): Promise<ExportCursor> {
    const { store, settings, newId } = this.#deps;
    const stream = newId().replaceAll('-', '').slice(0, 16);
    this.#cursor ??= await store.startExport(settings.name, stream, settings.backfill ? 'oldest' : 'newest');
    return this.#cursor;
  }

  /** False: nothing waits. */
  async #next(): Promise<boolean> {
    const { store, settings, lookUp, now, delivery } = this.#deps;
    const cursor = await this.#start();
    const events = await store.events({ after: cursor.seq, limit: READ_AT_ONCE });
    if (events.length === 0) return false;
    const { stream } = cursor;
    const planned = planBatch(cursor.seq, events, { stream, selection: settings.selection, lookUp, now: now() });
    const batch = firstOf(planned, cursor.seq < this.#oneByOneUpTo ? 1 : delivery.mostAtOnce);
    if (batch.messages.length === 0) return this.#advance(cursor, batch.upTo, []);
    const { accepted, failure } = await delivery.deliver(
      batch.messages.map(({ message }) => message),
      this.#stopped.signal,
    );
    if (this.#stopped.signal.aborted && accepted === 0) return false;
    if (failure === null) {
      this.#succeed();
      return this.#advance(cursor, batch.upTo, batch.messages);
    }
    const done = batch.messages.slice(0, accepted);
    const last = done.at(-1);
    if (last) await this.#advance(cursor, last.message.seq, done);
    const failed = batch.messages[accepted];
    return failed === undefined ? true : this.#fail(failed, failure, batch, accepted);
  }

  async #fail(failed: PlannedMessage, failure: Failure, batch: Batch, accepted: number): Promise<boolean> {
    const { delivery, settings, log, now } = this.#deps;
    if (failure.kind === 'unavailable') {
      this.#wait(failure);
      return true;
    }
    // It answered: it is reachable.
    this.#condition = { ...this.#condition, failures: 0, failingSince: null, lastError: failure.reason };
    if (delivery.wholeBatch && batch.messages.length > 1) {
      this.#oneByOneUpTo = batch.upTo;
      return true;
    }
    const { id, seq } = failed.message;
    const attempts = (this.#refused?.id === id ? this.#refused.attempts : 0) + 1;
    this.#refused = { id, attempts };
    if (attempts < MOST_ATTEMPTS) {
      this.#condition = { ...this.#condition, nextAttempt: now() + this.#delay(attempts, failure) };
      return true;
    }
    this.#refused = null;
    const reason = failure.reason;
    log.warn({ receiver: settings.name, event: seq, reason }, 'a receiver refuses an event; it is now a dead letter');
    const { event } = failed;
    const letters = event === null ? [] : [{ event, at: now(), attempts, reason }];
    const noted =
      event === null ? [] : [this.#event('export.dead-letter', { receiver: settings.name, event: seq, reason })];
    const cursor = await this.#start();
    const upTo = accepted + 1 === batch.messages.length ? batch.upTo : seq;
    if (cursor.seq >= upTo) return true;
    return this.#advance(cursor, upTo, [], { lost: failed.lost, letters, events: noted });
  }

  /** False: nothing waits to be sent again. */
  async #replay(): Promise<boolean> {
    const { store, settings, lookUp, delivery, now } = this.#deps;
    const letters = await store.waitingReplays(settings.name, REPLAYS_AT_ONCE);
    for (const letter of letters) {
      const { stream } = await this.#start();
      const message = messageOf(letter.event, stream, lookUp);
      const { failure } = await delivery.deliver([message], this.#stopped.signal);
      if (this.#stopped.signal.aborted && failure !== null) return false;
      if (failure?.kind === 'unavailable') {
        this.#wait(failure);
        return true;
      }
      await this.#settle(letter, failure, now());
    }
    return letters.length > 0;
  }

  async #settle({ event }: DeadLetter, failure: Failure | null, at: Instant): Promise<void> {
    const { store, settings } = this.#deps;
    if (failure !== null) return store.refuseReplay(settings.name, event.seq, at, failure.reason);
    this.#succeed();
    await store.finishReplay(settings.name, event.seq);
  }

  async #advance(
    cursor: ExportCursor,
    to: number,
    done: readonly PlannedMessage[],
    also: {
      readonly lost: number;
      readonly letters: readonly { event: StoredEvent; at: Instant; attempts: number; reason: string }[];
      readonly events: readonly NewEvent[];
    } = { lost: 0, letters: [], events: [] },
  ): Promise<boolean> {
    const { store, settings, log } = this.#deps;
    const receiver = settings.name;
    const gaps = done.filter(({ lost }) => lost > 0);
    const lost = gaps.reduce((sum, each) => sum + each.lost, also.lost);
    if (lost > 0) log.warn({ receiver, lost }, 'events were deleted before a receiver could get them');
    const delivered = done.length - gaps.length;
    const events = [...also.events, ...(lost === 0 ? [] : [this.#event('export.lost', { receiver, count: lost })])];
    const advance = { receiver, from: cursor.seq, to, delivered, lost, deadLetters: also.letters, events };
    const moved = await store.advanceExport(advance, MOST_DEAD_LETTERS);
    // Another process moved it: it is read again.
    this.#cursor = moved ? { ...cursor, seq: to } : null;
    return true;
  }

  #event(kind: 'export.lost', data: { receiver: string; count: number }): NewEvent;
  #event(kind: 'export.dead-letter', data: { receiver: string; event: number; reason: string }): NewEvent;
  #event(kind: 'export.lost' | 'export.dead-letter', data: object): NewEvent {
    return { at: this.#deps.now(), actor: 'appliance', machine: null, correlationId: null, kind, data } as NewEvent;
  }

  #succeed(): void {
    const { settings, log, now } = this.#deps;
    if (this.isUnreachable) log.info({ receiver: settings.name }, 'a receiver of exported events works again');
    this.#refused = null;
    this.#condition = { failures: 0, failingSince: null, lastError: null, lastSuccess: now(), nextAttempt: null };
  }

  #wait(failure: Failure): void {
    const { settings, log, now } = this.#deps;
    const failures = this.#condition.failures + 1;
    this.#condition = {
      ...this.#condition,
      failures,
      failingSince: this.#condition.failingSince ?? now(),
      lastError: failure.reason,
      nextAttempt: now() + this.#delay(failures, failure),
    };
    if (failures !== FAILURES_OF_A_PROBLEM) return;
    log.warn({ receiver: settings.name, reason: failure.reason }, 'a receiver of exported events cannot be reached');
  }

  #delay(failures: number, { retryAfter }: Failure): number {
    return retryDelay(failures, this.#deps.random(), retryAfter);
  }
}

/** The first messages of a batch; the cursor stops at the last of them. */
function firstOf({ messages, upTo }: Batch, most: number): Batch {
  if (messages.length <= most) return { messages, upTo };
  const first = messages.slice(0, most);
  return { messages: first, upTo: first.at(-1)?.message.seq ?? upTo };
}
