// How long things are good for.

import { DAY, HOUR, type Instant, MINUTE, SECOND } from '../domain/instant.ts';

export interface EnrollmentSettings {
  /** In the names of authorities and certificates. */
  readonly organization: string;
  readonly authorityLifetime: Instant;
  readonly nodeLifetime: Instant;
  readonly serviceLifetime: Instant;
  readonly serverLifetime: Instant;
  readonly tokenLifetime: Instant;
  /** Starts anew with each renewal: a node may be switched off for this long and come back by itself. */
  readonly recoveryLifetime: Instant;
  /** What a task-signing key signed is accepted for this long after the next one has taken over. */
  readonly signingGrace: Instant;
  /** How often a node says that it is there. */
  readonly heartbeatEvery: Instant;
  /** How long nothing may be heard of a node. */
  readonly silentAfter: Instant;
}

export const DEFAULT_ENROLLMENT_SETTINGS: EnrollmentSettings = {
  organization: 'Coldiron',
  authorityLifetime: 3650 * DAY,
  nodeLifetime: 30 * DAY,
  serviceLifetime: 365 * DAY,
  serverLifetime: 90 * DAY,
  tokenLifetime: 24 * HOUR,
  recoveryLifetime: 365 * DAY,
  signingGrace: 7 * DAY,
  heartbeatEvery: 30 * SECOND,
  silentAfter: 5 * MINUTE,
};
