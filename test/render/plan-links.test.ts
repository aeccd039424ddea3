import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlannedLink } from '../../appliance/render/node-plan.ts';
import { type ExampleDocument, indexOf, named, planned } from './plan-rack.ts';

const linksOf = (change: (document: ExampleDocument) => void, hostname = 'node04') =>
  planned(indexOf(change), hostname).links;

/** node04 with both interfaces in a bond on production, and storage on a VLAN of it; the VLAN comes first in the document. */
const bonded = (document: ExampleDocument): void => {
  document.networks.push(
    {
      name: 'storage',
      prefix: '10.0.44.0/22',
      vlan: 300,
      mtu: 9000,
      routes: [{ to: '10.0.48.0/24', via: '10.0.44.1' }],
      purpose: 'other',
    },
    { name: 'lab', prefix: '10.0.60.0/24', purpose: 'other' },
  );
  const node = named(document.nodes, 'node04');
  node.interfaces = [
    { name: 'eth0', mac: '52:54:00:12:34:59', network: 'provisioning', address: '10.0.100.60' },
    { name: 'eth1', mac: '52:54:00:22:34:59', network: 'production', mtu: 9100 },
    { name: 'eth2', mac: '52:54:00:32:34:59', network: 'lab' },
  ];
  Object.assign(node, {
    vlans: [
      { name: 'inner', id: 5, parent: 'bond0.300' },
      { name: 'bond0.300', id: 300, parent: 'bond0', network: 'storage', address: '10.0.45.4' },
    ],
    bonds: [
      {
        name: 'bond0',
        mode: '802.3ad',
        members: ['eth0', 'eth1'],
        network: 'production',
        address: '10.0.200.20',
        mtu: 9000,
      },
    ],
  });
};

describe('the links of a plan', () => {
  it('are interfaces, bonds and VLANs, carriers before the links on them', () => {
    const at = (ip: string, network: string, length: number) => ({ ip, prefix: { network, length } });
    expect(linksOf(bonded)).toEqual([
      {
        kind: 'ethernet',
        name: 'eth0',
        mac: '52:54:00:12:34:59',
        network: null,
        purpose: 'provisioning',
        mtu: 9000,
        address: null,
        routes: [],
      },
      {
        kind: 'ethernet',
        name: 'eth1',
        mac: '52:54:00:22:34:59',
        network: null,
        purpose: 'production',
        mtu: 9100,
        address: null,
        routes: [],
      },
      {
        kind: 'ethernet',
        name: 'eth2',
        mac: '52:54:00:32:34:59',
        network: 'lab',
        purpose: 'other',
        mtu: null,
        address: null,
        routes: [],
      },
      {
        kind: 'bond',
        name: 'bond0',
        mode: '802.3ad',
        members: ['eth0', 'eth1'],
        network: 'production',
        purpose: 'production',
        mtu: 9000,
        address: at('10.0.200.20', '10.0.200.0', 24),
        routes: [],
      },
      {
        kind: 'vlan',
        name: 'bond0.300',
        id: 300,
        parent: 'bond0',
        network: 'storage',
        purpose: 'other',
        mtu: 9000,
        address: at('10.0.45.4', '10.0.44.0', 22),
        routes: [{ to: { network: '10.0.48.0', length: 24 }, via: '10.0.44.1' }],
      },
      {
        kind: 'vlan',
        name: 'inner',
        id: 5,
        parent: 'bond0.300',
        network: null,
        purpose: 'other',
        mtu: null,
        address: null,
        routes: [],
      },
    ]);
  });

  it('give the cluster the address of the bond', () => {
    const plan = planned(indexOf(bonded), 'node04');
    expect(plan.cluster?.self.address).toBe('10.0.200.20');
    expect(plan.gateway).toBe('10.0.200.1');
  });

  it('request an address only on networks with DHCP', () => {
    const addresses = (links: readonly PlannedLink[]) =>
      links.map(({ name, address }) => [name, address && (address === 'dhcp' ? address : address.ip)]);
    const open = (document: ExampleDocument): void => {
      delete named(document.nodes, 'node05').interfaces[0]?.address;
    };
    expect(addresses(linksOf(open, 'node05'))).toEqual([
      ['eth0', 'dhcp'],
      ['eth1', '10.0.200.21'],
    ]);
    const nobody = (document: ExampleDocument): void => {
      open(document);
      delete named(document.networks, 'provisioning').pools;
    };
    expect(addresses(linksOf(nobody, 'node05'))).toEqual([
      ['eth0', null],
      ['eth1', '10.0.200.21'],
    ]);
  });

  it('use the gateway of production, else any other', () => {
    const out = (change: (document: ExampleDocument) => void) => {
      const { gateway, nameservers, searchDomains } = planned(indexOf(change), 'node05');
      return { gateway, nameservers, searchDomains };
    };
    expect(out((document) => delete named(document.networks, 'production').gateway)).toMatchObject({
      gateway: '10.0.100.1',
      nameservers: ['10.0.200.1', '8.8.8.8'],
    });
    expect(out((document) => delete named(document.networks, 'production').dns).nameservers).toEqual([
      '10.0.100.1',
      '8.8.8.8',
    ]);
    // One network for everything, as in a small site: it boots and works on the same network.
    expect(out((document) => named(document.nodes, 'node05').interfaces.pop())).toEqual({
      gateway: '10.0.100.1',
      nameservers: ['10.0.100.1', '8.8.8.8'],
      searchDomains: ['example.com', 'prov.example.com'],
    });
    // DHCP provides the gateway together with the address.
    expect(
      out((document) => {
        const node = named(document.nodes, 'node05');
        node.interfaces.pop();
        delete node.interfaces[0]?.address;
      }).gateway,
    ).toBeNull();
  });

  it('are in an order in which each carrier comes before its links, whatever the declared order', () => {
    const names = ['v1', 'v2', 'v3', 'v4', 'v5'];
    const tree = fc.record({
      order: fc.shuffledSubarray(names, { minLength: 5 }),
      parents: fc.array(fc.nat(5), { minLength: 5, maxLength: 5 }),
    });
    fc.assert(
      fc.property(tree, ({ order, parents }) => {
        const carriers = ['eth1', ...names];
        const vlans = names.map((name, at) => ({
          name,
          id: at + 1,
          parent: carriers[Math.min(parents[at] ?? 0, at)],
        }));
        const links = linksOf((document) => {
          Object.assign(named(document.nodes, 'node05'), {
            vlans: order.map((name) => vlans.find((vlan) => vlan.name === name)),
          });
        }, 'node05');
        const placed = links.map(({ name }) => name);
        expect(new Set(placed).size).toBe(7);
        for (const link of links) {
          if (link.kind === 'vlan') expect(placed.indexOf(link.parent)).toBeLessThan(placed.indexOf(link.name));
        }
      }),
      { numRuns: 50 },
    );
  });
});
