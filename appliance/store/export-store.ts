// How far each receiver of exported events has got, and the events that a receiver refused. There is no second copy of the events that
// wait: the event log has them, and a receiver has a cursor in it.

import type { NewAuditEntry, NewEvent, StoredEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';

export interface ExportCursor {
  readonly receiver: string;
  /** Part of the id of every message to this receiver. A new store has another one, although its events have the same numbers. */
  readonly stream: string;
  /** The last event that was delivered, filtered out, or stored as a dead letter. */
  readonly seq: number;
  readonly delivered: number;
  /** Events that were deleted before they could be delivered. */
  readonly lost: number;
}

export interface ExportState {
  readonly cursor: ExportCursor;
  /** The last event of the log. */
  readonly newest: number;
  /** When the oldest event after the cursor happened; null: there is none. */
  readonly waitingSince: Instant | null;
  readonly deadLetters: number;
}

/** An event that a receiver refused, as it was then. */
export interface DeadLetter {
  readonly event: StoredEvent;
  readonly at: Instant;
  readonly attempts: number;
  readonly reason: string;
  /** It waits to be sent again. */
  readonly replay: boolean;
}

export interface ExportAdvance {
  readonly receiver: string;
  /** Refused when the cursor is not here any more. */
  readonly from: number;
  readonly to: number;
  readonly delivered: number;
  readonly lost: number;
  readonly deadLetters: readonly Omit<DeadLetter, 'replay'>[];
  readonly events: readonly NewEvent[];
}

/** Each method is one transaction, as `store.ts` promises. */
export interface ExportStore {
  /** Returns the cursor. A new receiver gets one: after the newest event, or before the oldest. */
  startExport(receiver: string, stream: string, from: 'newest' | 'oldest'): Promise<ExportCursor>;
  /** Null: the receiver was never started. */
  exportState(receiver: string): Promise<ExportState | null>;
  /** False: the cursor has moved, and nothing was written. The oldest dead letters over `mostDeadLetters` are deleted and count as lost. */
  advanceExport(advance: ExportAdvance, mostDeadLetters: number): Promise<boolean>;
  /** In the order of their events. */
  deadLetters(receiver: string, after: number, limit: number): Promise<DeadLetter[]>;
  /** Marks dead letters to be sent again; null: all. Returns how many; the audit entry is written when there is one. */
  replayDeadLetters(receiver: string, events: readonly number[] | null, audit: NewAuditEntry): Promise<number>;
  /** Those that wait to be sent again, in the order of their events. */
  waitingReplays(receiver: string, limit: number): Promise<DeadLetter[]>;
  /** Deletes a dead letter that was accepted, and counts it as delivered. */
  finishReplay(receiver: string, event: number): Promise<void>;
  /** It was refused again, and does not wait any more. */
  refuseReplay(receiver: string, event: number, at: Instant, reason: string): Promise<void>;
  /** Retention, as for events. Returns how many were deleted. */
  trimDeadLetters(before: Instant): Promise<number>;
}
