// The medium of one network boot: a CD image with a one-time secret, which the BMC of the machine inserts. It reaches no other machine, so
// that its secret identifies the machine behind this BMC.

import type { Instant } from './instant.ts';
import type { Ipv4 } from './ipv4.ts';
import type { MachineId } from './machine.ts';
import type { SessionId } from './session.ts';

/** The newest one of a machine. Neither its secret nor its URL is stored. */
export interface SessionMedium {
  readonly machine: MachineId;
  /** With the appliance's own key, this gives its secret and the unguessable part of its URL. */
  readonly salt: string;
  /** SHA-256 of the unguessable part of its URL. */
  readonly pathHash: string;
  /** The only address that may fetch it. */
  readonly bmc: Ipv4;
  /** When the machine entered the state that it boots for. */
  readonly since: Instant;
  readonly madeAt: Instant;
  readonly expiresAt: Instant;
  /** When the BMC read back that it is inserted; null: not yet, or never. */
  readonly insertedAt: Instant | null;
  /** When the BMC first read from it. */
  readonly fetchedAt: Instant | null;
  /** The session that its secret opened. */
  readonly usedBy: SessionId | null;
  /** When it was ejected, or given up. Null: it may still be in the drive. */
  readonly endedAt: Instant | null;
}

/** Something that happens to a medium once. */
export type MediumMark = 'inserted' | 'fetched' | 'ended';
