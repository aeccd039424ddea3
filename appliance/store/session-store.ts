// What is remembered about sessions of the service OS, and what machines were found to consist of.

import type { Json, NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Session, SessionEnd, SessionId, SessionMode, SessionStep } from '../domain/session.ts';

export interface NewTicket {
  readonly id: SessionId;
  readonly machine: MachineId;
  readonly mode: SessionMode;
  readonly order: Json;
  /** SHA-256 of the ticket. */
  readonly ticketHash: string;
  readonly madeAt: Instant;
  readonly expiresAt: Instant;
}

export interface Opening {
  readonly ticketHash: string;
  readonly keyHash: string;
  /** SHA-256 of what the opener made up for this opening; null: it did not. */
  readonly nonceHash: string | null;
  readonly now: Instant;
  readonly expiresAt: Instant;
  readonly event: NewEvent;
  readonly audit: NewAuditEntry;
}

/** The same opener once more: it did not hear the answer. */
export interface Reopening {
  readonly ticketHash: string;
  readonly keyHash: string;
  readonly nonceHash: string;
  /** Whoever opened before this has had its time. */
  readonly openedSince: Instant;
  readonly event: NewEvent;
  readonly audit: NewAuditEntry;
}

export interface SessionReport {
  readonly id: SessionId;
  /** Reports that were seen before, by this number, change nothing. */
  readonly sequence: number;
  readonly step: SessionStep;
  readonly event: NewEvent | null;
}

export interface MachineFacts {
  readonly facts: Json;
  readonly at: Instant;
}

/** How many sets of facts are kept of a machine, the newest ones. */
export const KEPT_FACTS = 5;

/** Each verb is one transaction, as `store.ts` promises. */
export interface SessionStore {
  /** A ticket that nobody has used is replaced: only the newest script of a machine opens anything. */
  putTicket(ticket: NewTicket): Promise<void>;
  sessionByTicket(ticketHash: string): Promise<Session | null>;
  sessionByKey(keyHash: string): Promise<Session | null>;
  /** The newest first. */
  sessionsOf(machine: MachineId, limit: number): Promise<Session[]>;
  /** True for exactly one caller, and only before the ticket's end. Older open sessions of the machine end with it. */
  openSession(opening: Opening): Promise<boolean>;
  /** A new key in the place of one that nobody has reported with. Only for the nonce that the session was opened with. */
  reopenSession(reopening: Reopening): Promise<boolean>;
  /** False when it was seen before, or the session has ended. */
  reportStep(report: SessionReport): Promise<boolean>;
  /** Only what has been opened and has not ended. False when there is none such. */
  endSession(id: SessionId, how: SessionEnd, now: Instant, reason: string | null, event: NewEvent): Promise<boolean>;
  /** Everything of the machine that is open or could be opened. Returns how many. */
  endSessionsOf(machine: MachineId, how: SessionEnd, now: Instant, reason: string | null): Promise<number>;
  /** True once for each name: a secret file of an order is given out a single time. */
  takeSessionFile(id: SessionId, name: string, now: Instant, audit: NewAuditEntry): Promise<boolean>;

  putFacts(machine: MachineId, facts: MachineFacts, event: NewEvent): Promise<void>;
  /** The newest first. */
  factsOf(machine: MachineId): Promise<MachineFacts[]>;
}
