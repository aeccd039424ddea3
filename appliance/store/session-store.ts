// Stored sessions of the service OS, and the hardware facts they reported.

import type { Json } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Session, SessionId, SessionIdentity, SessionMode, SessionStep } from '../domain/session.ts';
import type { SessionMedium } from '../domain/session-medium.ts';

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
  /** SHA-256 of the nonce that the client generated; null: it sent none. */
  readonly nonceHash: string | null;
  readonly now: Instant;
  readonly expiresAt: Instant;
  readonly identity: SessionIdentity;
}

/** A repeated opening by the same client, after a lost reply. */
export interface Reopening {
  readonly ticketHash: string;
  readonly keyHash: string;
  readonly nonceHash: string;
  /** Refused if the session was opened before this. */
  readonly openedSince: Instant;
  readonly identity: SessionIdentity;
}

export interface SessionReport {
  readonly id: SessionId;
  /** A report with a number that was received before changes nothing. */
  readonly sequence: number;
  readonly step: SessionStep;
}

export interface MachineFacts {
  readonly facts: Json;
  readonly at: Instant;
}

/** How many sets of facts are kept per machine; the newest ones. */
export const KEPT_FACTS = 5;

/** Sessions are written with `Store.commit`. */
export interface SessionStore {
  sessionByTicket(ticketHash: string): Promise<Session | null>;
  sessionByKey(keyHash: string): Promise<Session | null>;
  /** The newest first. */
  sessionsOf(machine: MachineId, limit: number): Promise<Session[]>;
  /** The secret files that were delivered in the session. */
  filesTaken(session: SessionId): Promise<string[]>;
  /** The newest medium of the machine. */
  mediumOf(machine: MachineId): Promise<SessionMedium | null>;
  mediumByPath(pathHash: string): Promise<SessionMedium | null>;
  /** Those that may be in a drive; the oldest first. */
  unendedMedia(): Promise<SessionMedium[]>;
  /** The newest first. */
  factsOf(machine: MachineId): Promise<MachineFacts[]>;
}
