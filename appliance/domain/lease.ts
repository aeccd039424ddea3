// A DHCP lease: which address a MAC holds, until when, and on which network.

import type { Instant } from './instant.ts';
import type { Ipv4 } from './ipv4.ts';
import type { Mac } from './mac.ts';
import type { ObjectName } from './names.ts';

/** `declined`: the client found somebody else on the address; it rests until it expires. */
export type LeaseState = 'bound' | 'released' | 'declined';

export interface Lease {
  readonly address: Ipv4;
  readonly mac: Mac;
  readonly network: ObjectName;
  readonly state: LeaseState;
  readonly grantedAt: Instant;
  readonly expiresAt: Instant;
}

export const isHeld = (lease: Lease, now: Instant): boolean => lease.state === 'bound' && lease.expiresAt > now;
