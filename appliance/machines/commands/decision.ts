// The result of a command: a change to commit, a refusal with its reason, or nothing because the command no longer applies.

import type { ErrorCode } from '../../domain/errors.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Change } from '../../store/change.ts';

/** What a command needs besides the machine: read before, so that the decision is pure. */
export interface CommandContext {
  readonly now: Instant;
  /** New for every decision: the ids of new objects derive from it. */
  readonly id: string;
  /** The time limit of a deployment in the machine's profile; null: there is no such profile. */
  readonly deployMinutes: number | null;
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  /** One reason each. */
  readonly details: readonly string[];
  /** What to do about it, where the table of errors has no better hint. */
  readonly hint?: string | undefined;
  /** The events to record with the refusal. */
  readonly events: readonly NewEvent[];
}

export type Decision =
  | { readonly outcome: 'change'; readonly change: Change }
  | { readonly outcome: 'refused'; readonly refusal: Refusal }
  | { readonly outcome: 'nothing' };

export const NOTHING: Decision = { outcome: 'nothing' };

export const refused = (
  code: ErrorCode,
  message: string,
  details: readonly string[] = [],
  hint: string | undefined = undefined,
): Decision => ({ outcome: 'refused', refusal: { code, message, details, hint, events: [] } });

/** A change without writes, decided on this version of the machine. */
export const emptyChange = ({ id, version }: Pick<Machine, 'id' | 'version'>, at: Instant): Change => ({
  command: null,
  at,
  machine: id,
  version,
  lifecycle: null,
  effects: [],
  writes: [],
  events: [],
  audit: [],
});
