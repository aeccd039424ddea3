import { describe, expect, it } from 'vitest';
import { chooseNetwork, isDirect } from '../../appliance/boot/choose-network.ts';
import type { LeaseRequest } from '../../appliance/boot/leases/lease-request.ts';
import { contains, parsePrefix } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { name, networkWith } from './boot-fixtures.ts';
import { ip, requestOf } from './leases/lease-fixtures.ts';

const direct = networkWith();
const relayed = networkWith({ name: name('relayed'), prefix: mustParse(parsePrefix('10.0.200.0/24')) });
const elsewhere = networkWith({
  name: name('elsewhere'),
  prefix: mustParse(parsePrefix('10.7.0.0/16')),
  interface: 'eth2',
});
const anywhere = networkWith({
  name: name('anywhere'),
  prefix: mustParse(parsePrefix('10.8.0.0/16')),
  interface: null,
});
const off = networkWith({
  name: name('off'),
  prefix: mustParse(parsePrefix('10.9.0.0/16')),
  interface: null,
  dhcp: 'off',
});
const networks = [direct, relayed, elsewhere, anywhere, off];
const ingress = {
  interface: 'eth1',
  direct,
  networkOf: (address: ReturnType<typeof ip>) => networks.find(({ prefix }) => contains(prefix, address)) ?? null,
};
const relayAgent = (link: string) => ({
  circuitId: null,
  remoteId: null,
  linkSelection: ip(link),
  serverOverride: null,
  damage: null,
});

describe('the network of a request', () => {
  it.each<[string, Partial<LeaseRequest>, string]>([
    ['is that of the receiving interface', {}, 'provisioning'],
    ['is that of the relay', { relay: ip('10.0.200.1') }, 'relayed'],
    [
      'is that of subnet selection, before the relay',
      { subnetSelection: ip('10.0.200.0'), relay: ip('10.0.100.2') },
      'relayed',
    ],
    [
      'is that of link selection, before everything else',
      { relayAgent: relayAgent('10.0.200.0'), subnetSelection: ip('10.0.100.0'), relay: ip('10.0.100.2') },
      'relayed',
    ],
    [
      'is that of the renewed address, since a renewal bypasses the relay',
      { clientAddress: ip('10.0.200.9') },
      'relayed',
    ],
    [
      'is that of the interface when the renewed address is in no network',
      { clientAddress: ip('10.55.0.1') },
      'provisioning',
    ],
    [
      'is that of the interface when the renewed address is served on another',
      { clientAddress: ip('10.7.0.9') },
      'provisioning',
    ],
    ['is unknown when the relay is', { relay: ip('10.55.0.1') }, 'no-network'],
    ['is that of the relay, also when it names no interface', { relay: ip('10.8.0.1') }, 'anywhere'],
    ['is not served when it names no interface and has no DHCP', { relay: ip('10.9.0.1') }, 'other-interface'],
    ['is not served when it is served on another interface', { relay: ip('10.7.0.1') }, 'other-interface'],
  ])('%s', (_, changes, expected) => {
    const choice = chooseNetwork(requestOf(changes), ingress);
    expect(choice.network?.name ?? choice.because).toBe(expected);
  });

  it('is unknown on an interface that only relays use', () => {
    expect(chooseNetwork(requestOf({}), { ...ingress, direct: null }).because).toBe('no-network');
  });

  it('is direct when our address is in it', () => {
    expect(isDirect(direct)).toBe(true);
    expect(isDirect(relayed)).toBe(false);
    expect(isDirect(networkWith({ server: null }))).toBe(false);
  });
});
