// A session of the service OS: opened once with a ticket from a boot script, carried on with a key that only it knows.

import type { Json } from './event.ts';
import type { Instant } from './instant.ts';
import type { MachineId } from './machine.ts';
import { type Branded, type Parsed, parsed, unparsable } from './parsed.ts';

export const SESSION_MODES = ['inspect', 'commission', 'install', 'erase', 'rescue'] as const;
export type SessionMode = (typeof SESSION_MODES)[number];

/** 256 random bits in base64url. What is kept of either is its SHA-256. */
export type SessionSecret = Branded<string, 'SessionSecret'>;

export function parseSessionSecret(text: string): Parsed<SessionSecret> {
  // The reason never repeats the text: it may be a real one with a typing mistake.
  return /^[A-Za-z0-9_-]{43}$/.test(text) ? parsed(text as SessionSecret) : unparsable('no ticket and no session key');
}

export type SessionId = Branded<string, 'SessionId'>;

/** How far a session has come, as it told last. */
export interface SessionStep {
  readonly step: string;
  readonly status: 'started' | 'progress' | 'done' | 'failed';
  readonly percent: number | null;
  readonly message: string | null;
  readonly at: Instant;
}

export type SessionEnd =
  /** It told its outcome. */
  | 'succeeded'
  | 'failed'
  /** The same machine opened a newer one. */
  | 'superseded'
  /** Its machine left the state that it was for. */
  | 'cancelled'
  | 'expired';

export interface Session {
  readonly id: SessionId;
  readonly machine: MachineId;
  readonly mode: SessionMode;
  /** What it was given to do. */
  readonly order: Json;
  readonly ticketMadeAt: Instant;
  readonly ticketExpiresAt: Instant;
  /** Null: nobody has come with the ticket. */
  readonly openedAt: Instant | null;
  readonly expiresAt: Instant | null;
  readonly heardAt: Instant | null;
  /** The highest number of a report that was taken in. */
  readonly sequence: number;
  readonly last: SessionStep | null;
  readonly ended: { readonly how: SessionEnd; readonly at: Instant; readonly reason: string | null } | null;
}
