// Names, and lifetimes and intervals of certificates, tokens and heartbeats.

import { DAY, HOUR, type Instant, MINUTE, SECOND } from '../domain/instant.ts';

export interface EnrollmentSettings {
  /** The organization in the subjects of authorities and certificates. */
  readonly organization: string;
  /** The first part of the names on nodes: `/etc/NAME`, `NAME-node-agent.service`, `NAME_NODE_ID`. */
  readonly agentNames: string;
  readonly authorityLifetime: Instant;
  readonly nodeLifetime: Instant;
  readonly serviceLifetime: Instant;
  readonly serverLifetime: Instant;
  readonly tokenLifetime: Instant;
  /** Restarts at each renewal: a node that was off for up to this long recovers by itself. */
  readonly recoveryLifetime: Instant;
  /** Signatures of a task-signing key are accepted for this long after the next key is activated. */
  readonly signingGrace: Instant;
  /** Interval of a node's heartbeats. */
  readonly heartbeatEvery: Instant;
  /** A node without a heartbeat for this long is silent. */
  readonly silentAfter: Instant;
}

export const DEFAULT_ENROLLMENT_SETTINGS: EnrollmentSettings = {
  organization: 'Coldiron',
  agentNames: 'coldiron',
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
