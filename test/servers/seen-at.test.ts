import { describe, expect, it } from 'vitest';
import type { SiteNetwork } from '../../appliance/domain/network.ts';
import { seenAt } from '../../appliance/servers/seen-at.ts';
import { MAC, networkWith } from '../boot/boot-fixtures.ts';
import { ip } from '../boot/leases/lease-fixtures.ts';

const ADDRESS = ip('10.0.100.7');
const seen = (network: SiteNetwork | null, mac: typeof MAC | null = null, neighbour: typeof MAC | null = null) =>
  seenAt(ADDRESS, { macOf: () => mac, neighbourOf: () => neighbour }, { networkOf: () => network });

describe('the origin of a request', () => {
  it.each([
    ['authoritative', true],
    ['proxy', false],
    ['off', false],
  ] as const)('with DHCP %s, the holder of the address would be known: %s', (dhcp, wouldBeKnown) => {
    expect(seen(networkWith({ dhcp }))).toEqual({ address: ADDRESS, mac: null, neighbour: null, wouldBeKnown });
  });

  it('has the MAC of the card that holds the address, and of the card that answers for it', () => {
    expect(seen(networkWith(), MAC)).toMatchObject({ mac: MAC, neighbour: null });
    expect(seen(networkWith(), null, MAC)).toMatchObject({ mac: null, neighbour: MAC });
  });

  it('is unknown for an address on no declared network, and without an address', () => {
    expect(seen(null)).toEqual({ address: ADDRESS, mac: null, neighbour: null, wouldBeKnown: false });
    expect(seenAt(null, { macOf: () => MAC, neighbourOf: () => MAC }, { networkOf: () => networkWith() })).toEqual({
      address: null,
      mac: null,
      neighbour: null,
      wouldBeKnown: false,
    });
  });
});
