// A request with an Idempotency-Key is executed once: a repetition gets the answer of the first. A refusal (4xx) changed nothing,
// so it is not stored, and the same key may be used again.

import { createHash, createHmac } from 'node:crypto';
import { ColdironError, ERRORS, type ErrorCode } from '../domain/errors.ts';
import type { Actor, Json } from '../domain/event.ts';
import { canonicalJson } from '../domain/event.ts';
import { DAY, HOUR, instantText } from '../domain/instant.ts';
import type { KeptRequest, RequestOutcome, RequestStore } from '../store/request-store.ts';
import type { Clock } from './clock.ts';

export interface LedgerDeps {
  readonly store: RequestStore;
  readonly clock: Clock;
  /** A new one for each process. */
  readonly holder: string;
}

export interface KeyedRequest {
  readonly commandId: string;
  readonly fingerprint: string;
  readonly operation: string;
  /** It may be executed again after a crash. */
  readonly repeatable: boolean;
  readonly secretAnswer: boolean;
}

const KEPT_FOR = DAY;
const TRIM_EVERY = HOUR;
/** Characters of JSON. Larger answers are not stored. */
const LARGEST_KEPT = 1024 * 1024;
const LONGEST_KEY = 255;

/** Null: no key was sent. */
export function idempotencyKeyOf(header: string | string[] | undefined): string | null {
  if (header === undefined) return null;
  // The quoted form is a string of RFC 8941, as the IETF draft of the header requires.
  const text = typeof header === 'string' ? header.replace(/^"(.*)"$/, '$1') : '';
  if (/^[\x21-\x7e]+$/.test(text) && text.length <= LONGEST_KEY) return text;
  const rule = `must be one value of 1 to ${LONGEST_KEY} visible ASCII characters without spaces`;
  throw new ColdironError('invalid_request', `Idempotency-Key: ${rule}; a random UUID is a good choice`);
}

export const commandIdOf = (actor: Actor, key: string): string =>
  createHash('sha256')
    .update(canonicalJson([actor, key]))
    .digest('hex');

/** A keyed hash, because a plain hash of a body with a password allows guessing the password. */
export const fingerprintOf = (key: string, request: Json): string =>
  createHmac('sha256', key).update(canonicalJson(request)).digest('hex');

export class RequestLedger {
  readonly #deps: LedgerDeps;
  readonly #running = new Set<string>();
  #trimmedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: LedgerDeps) {
    this.#deps = deps;
  }

  async once(request: KeyedRequest, run: () => Promise<Json>): Promise<{ answer: Json; replayed: boolean }> {
    const { store, clock, holder } = this.#deps;
    const now = clock.now();
    await this.#trim(now);
    const { commandId: id, fingerprint, operation } = request;
    const kept = await store.claimRequest({ id, fingerprint, operation, holder, at: now }, now - KEPT_FOR);
    if (kept !== null && !(await this.#takesOver(kept, request))) return replay(kept, request);
    return { answer: await this.#run(request, run), replayed: false };
  }

  async #takesOver(kept: KeptRequest, request: KeyedRequest): Promise<boolean> {
    if (kept.fingerprint !== request.fingerprint || kept.finished !== null) return false;
    const when = instantText(kept.at);
    if (this.#running.has(kept.id)) {
      throw new ColdironError(
        'request_in_progress',
        `the request with this Idempotency-Key has been running since ${when}`,
      );
    }
    const { store, clock, holder } = this.#deps;
    if (request.repeatable && (await store.takeOverRequest(kept.id, kept.holder, { holder, at: clock.now() }))) {
      return true;
    }
    throw new ColdironError(
      'outcome_unknown',
      `the appliance stopped while it executed the request with this Idempotency-Key, at ${when}: the change may or may not have been made`,
    );
  }

  async #run({ commandId, secretAnswer, repeatable }: KeyedRequest, run: () => Promise<Json>): Promise<Json> {
    const { store, clock, holder } = this.#deps;
    this.#running.add(commandId);
    try {
      const answer = await run();
      await store.finishRequest(commandId, holder, clock.now(), outcomeOf(answer, secretAnswer));
      return answer;
    } catch (error) {
      if (error instanceof ColdironError && (ERRORS[error.code].status < 500 || (repeatable && isTransient(error)))) {
        await store.releaseRequest(commandId, holder);
      } else await store.finishRequest(commandId, holder, clock.now(), failureOf(error));
      throw error;
    } finally {
      this.#running.delete(commandId);
    }
  }

  async #trim(now: number): Promise<void> {
    if (now - this.#trimmedAt < TRIM_EVERY) return;
    this.#trimmedAt = now;
    await this.#deps.store.trimRequests(now - KEPT_FOR);
  }
}

function replay(kept: KeptRequest, request: KeyedRequest): { answer: Json; replayed: true } {
  if (kept.fingerprint !== request.fingerprint) {
    const first = `${kept.operation} at ${instantText(kept.at)}`;
    throw new ColdironError(
      'idempotency_key_reused',
      `this Idempotency-Key was used for another request: ${first}; path, query, If-Match and body must be the same`,
    );
  }
  if (kept.finished === null) throw new Error(`the request ${kept.id} is not finished`);
  const { at, outcome } = kept.finished;
  switch (outcome.kind) {
    case 'answer':
      return { answer: outcome.answer, replayed: true };
    case 'error':
      throw new ReplayedError(outcome.code as ErrorCode, outcome.message, outcome.details, outcome.hint);
    case 'not-kept': {
      const why = outcome.because === 'secret' ? 'contains a secret, which is shown once' : 'was too large to store';
      throw new ColdironError('answer_not_kept', `this request was completed at ${instantText(at)}; its answer ${why}`);
    }
  }
}

/** The commit failed or its outcome is unknown. A request that is safe to repeat may be sent again with the same key. */
const isTransient = ({ code }: ColdironError): boolean => code === 'store_unavailable' || code === 'outcome_unknown';

/** Repeats the failure of the first request. */
export class ReplayedError extends ColdironError {}

function outcomeOf(answer: Json, secret: boolean): RequestOutcome {
  if (secret) return { kind: 'not-kept', because: 'secret' };
  return JSON.stringify(answer).length > LARGEST_KEPT
    ? { kind: 'not-kept', because: 'size' }
    : { kind: 'answer', answer };
}

function failureOf(error: unknown): RequestOutcome {
  const known =
    error instanceof ColdironError
      ? error
      : new ColdironError('internal', 'the first request failed with an internal error');
  return { kind: 'error', code: known.code, message: known.message, details: known.details, hint: known.hint };
}
