import { describe, expect, it } from 'vitest';
import { isHeld } from '../../appliance/domain/lease.ts';
import { leaseWith } from '../boot/leases/lease-fixtures.ts';

describe('a lease', () => {
  const lease = leaseWith();

  it('is held until the instant before it expires', () => {
    expect(isHeld(lease, lease.expiresAt - 1)).toBe(true);
    expect(isHeld(lease, lease.expiresAt)).toBe(false);
  });

  it.each(['released', 'declined'] as const)('is not held once it is %s', (state) => {
    expect(isHeld({ ...lease, state }, lease.grantedAt)).toBe(false);
  });
});
