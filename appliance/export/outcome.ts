// What a receiver's answer means for the messages that were sent.

import { SECOND } from '../domain/instant.ts';
import { plainLine } from '../domain/plain-line.ts';
import { maskSecrets } from '../domain/secret-masks.ts';
import type { ExportMessage } from './message.ts';

/**
 * `unavailable`: the receiver, the way to it, or our right to use it is missing; the same messages wait, for as long as it takes.
 * `refused`: the receiver works and does not want this message; after some attempts it becomes a dead letter.
 */
export interface Failure {
  readonly kind: 'unavailable' | 'refused';
  readonly reason: string;
  /** Milliseconds that the receiver asked to wait; null: it did not. */
  readonly retryAfter: number | null;
}

export interface Outcome {
  /** How many of the messages, from the first on, the receiver has. */
  readonly accepted: number;
  readonly failure: Failure | null;
}

export interface Delivery {
  readonly mostAtOnce: number;
  /** Whether one refused message refuses all that were sent with it. */
  readonly wholeBatch: boolean;
  /** Never rejects. In order; what was sent after a failure counts as not sent. */
  deliver(messages: readonly ExportMessage[], signal: AbortSignal): Promise<Outcome>;
  close(): void;
}

export const unavailable = (reason: string, retryAfter: number | null = null): Failure => ({
  kind: 'unavailable',
  reason: receiverText(reason),
  retryAfter,
});
export const refused = (reason: string): Failure => ({
  kind: 'refused',
  reason: receiverText(reason),
  retryAfter: null,
});

/**
 * Statuses that say nothing about the message: not authorised, wrong address, too many requests, a gateway without its server
 * (RFC 9110 §15, RFC 6585 §4). Redirects are not followed: the events would go to a host that nobody configured.
 */
const NOT_ABOUT_THE_MESSAGE: ReadonlySet<number> = new Set([
  401, 402, 403, 404, 405, 407, 408, 410, 425, 429, 502, 503, 504,
]);

export interface HttpAnswer {
  readonly status: number;
  readonly retryAfter: string | null;
  /** The beginning of the body. */
  readonly text: string;
}

/** Null: accepted. */
export function failureOf({ status, retryAfter, text }: HttpAnswer): Failure | null {
  if (status >= 200 && status < 300) return null;
  const said = text.trim() === '' ? '' : `: ${text.trim()}`;
  if (status >= 300 && status < 400) return unavailable(`it answered ${status}, a redirect, which is not followed`);
  if (NOT_ABOUT_THE_MESSAGE.has(status)) return unavailable(`it answered ${status}${said}`, pauseOf(retryAfter));
  return refused(`it answered ${status}${said}`);
}

/** Only seconds; the other form is a date of another clock. */
const pauseOf = (text: string | null): number | null =>
  text !== null && /^\d{1,6}$/.test(text.trim()) ? Number(text) * SECOND : null;

const LONGEST_REASON = 200;

/** Text of a receiver is as little trusted as that of a machine. */
function receiverText(text: string): string {
  const line = maskSecrets(plainLine(text));
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)}…` : line;
}
