// A DHCP lease: the address of a MAC on a network, until it expires.

import type { Instant } from './instant.ts';
import type { Ipv4 } from './ipv4.ts';
import type { Mac } from './mac.ts';
import type { ObjectName } from './names.ts';

/** `declined`: the client found another host on the address; the address is not offered until the lease expires. */
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
