// A session of the service OS: opened once with a ticket from a boot script, then authenticated with a session key.

import type { Json } from './event.ts';
import type { IdentityLevel, ShownHardware } from './hardware-identity.ts';
import type { Instant } from './instant.ts';
import type { MachineId } from './machine.ts';
import { type Branded, type Parsed, parsed, unparsable } from './parsed.ts';

export const SESSION_MODES = ['inspect', 'commission', 'install', 'erase', 'rescue'] as const;
export type SessionMode = (typeof SESSION_MODES)[number];

/** A ticket or a session key: 256 random bits in base64url. Only its SHA-256 is stored. */
export type SessionSecret = Branded<string, 'SessionSecret'>;

export function parseSessionSecret(text: string): Parsed<SessionSecret> {
  // The reason never contains the text: it may be a real secret with a typing error.
  return /^[A-Za-z0-9_-]{43}$/.test(text) ? parsed(text as SessionSecret) : unparsable('not a ticket or a session key');
}

export type SessionId = Branded<string, 'SessionId'>;

/** The last progress report of a session. */
export interface SessionStep {
  readonly step: string;
  readonly status: 'started' | 'progress' | 'done' | 'failed';
  readonly percent: number | null;
  readonly message: string | null;
  readonly at: Instant;
  /** Present in a step that counts the bytes it has read or written. */
  readonly progress?: StepProgress;
}

/** Whether a step moves. Reports that repeat the same number do not count. */
export interface StepProgress {
  readonly bytes: number;
  /** The last report that had moved enough, and its bytes. */
  readonly moved: { readonly at: Instant; readonly bytes: number };
  /** When it was recorded that the step stands still; null: it moves. */
  readonly stalledAt: Instant | null;
}

export type SessionEnd =
  /** It reported its outcome. */
  | 'succeeded'
  | 'failed'
  /** The same machine opened a newer one. */
  | 'superseded'
  /** Its machine left the state that it was opened for. */
  | 'cancelled'
  | 'expired';

/** How the identity of a session was established, and how its key was delivered. */
export interface SessionIdentity {
  readonly level: IdentityLevel;
  /** `clear`: in the reply. `tpm`, `media`: its secret can be opened only with the TPM, or was on the medium. */
  readonly key: 'clear' | 'tpm' | 'media';
  /** With the appliance's own key, this gives the secret of the session. Null: the key was random. */
  readonly salt: string | null;
  readonly shown: ShownHardware;
}

export interface Session {
  readonly id: SessionId;
  readonly machine: MachineId;
  readonly mode: SessionMode;
  /** The work that it does. */
  readonly order: Json;
  readonly ticketMadeAt: Instant;
  readonly ticketExpiresAt: Instant;
  /** Null: the ticket was not used yet. */
  readonly openedAt: Instant | null;
  readonly expiresAt: Instant | null;
  readonly heardAt: Instant | null;
  /** Null: it was not opened, or by an older version. */
  readonly identity: SessionIdentity | null;
  /** The highest sequence number of an accepted report. */
  readonly sequence: number;
  readonly last: SessionStep | null;
  readonly ended: { readonly how: SessionEnd; readonly at: Instant; readonly reason: string | null } | null;
}
