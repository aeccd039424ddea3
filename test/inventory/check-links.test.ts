import { describe, expect, it } from 'vitest';
import { at, declaredBy, network, nic, node, problemsOf, type RackDocument, rackDocument } from './rack.ts';

type Row = readonly [sentence: string, breakIt: (rack: RackDocument) => void, ...problems: string[]];

const BOND = { name: 'bond0', mode: '802.3ad', members: ['eth1', 'eth2'], network: 'work', address: '10.0.2.11' };

/** The second and third card form a bond with the address; the bond carries a VLAN for storage. */
function bonded(): RackDocument {
  const rack = rackDocument();
  rack.networks.push({ name: 'storage', prefix: '10.0.3.0/24', vlan: 30, mtu: 9000, pools: [] });
  const first = node(rack, 0);
  first.interfaces = [
    nic(rack, 0, 0),
    { name: 'eth1', mac: '52:54:00:00:02:01', network: 'work' },
    { name: 'eth2', mac: '52:54:00:00:03:01', network: 'work' },
  ];
  Object.assign(first, {
    bonds: [{ ...BOND, mtu: 9000 }],
    vlans: [{ name: 'bond0.30', id: 30, parent: 'bond0', network: 'storage', address: '10.0.3.11' }],
  });
  return rack;
}

const list = (rack: RackDocument, name: 'bonds' | 'vlans') => node(rack, 0)[name] as Record<string, unknown>[];

const ROWS: readonly Row[] = [
  [
    'a bond member that is not an interface',
    (rack) => Object.assign(at(list(rack, 'bonds'), 0), { members: ['eth1', 'eth22'] }),
    'nodes[0].bonds[0].members[1]: no interface is called eth22 (did you mean eth2?)',
  ],
  [
    'a card in two bonds, or twice in one',
    (rack) => {
      Object.assign(at(list(rack, 'bonds'), 0), { members: ['eth1', 'eth1'] });
      list(rack, 'bonds').push({ name: 'bond1', members: ['eth1'] });
    },
    'nodes[0].bonds[0].members[1]: eth1 is already a member of bond0',
    'nodes[0].bonds[1].members[0]: eth1 is already a member of bond0',
  ],
  [
    'a bond without members',
    (rack) => Object.assign(at(list(rack, 'bonds'), 0), { members: [] }),
    'nodes[0].bonds[0].members: must have at least one item',
  ],
  [
    'two links with the same name',
    (rack) => {
      Object.assign(at(list(rack, 'vlans'), 0), { name: 'eth0' });
      list(rack, 'bonds').push({ name: 'eth1', members: ['eth0'] });
    },
    'nodes[0].bonds[1].name: eth1 is taken by lab.yaml: nodes[0].interfaces[1].name',
    'nodes[0].vlans[0].name: eth0 is taken by lab.yaml: nodes[0].interfaces[0].name',
  ],
  [
    'an address outside of its network, and one without a network',
    (rack) => {
      Object.assign(at(list(rack, 'bonds'), 0), { address: '10.0.9.1' });
      const { network: _, ...rest } = at(list(rack, 'vlans'), 0);
      list(rack, 'vlans')[0] = rest;
    },
    'nodes[0].bonds[0].address: 10.0.9.1 is outside 10.0.2.0/24 (work)',
    'nodes[0].vlans[0].network: is missing: an address requires a network',
  ],
  [
    'an address that is already used',
    (rack) => {
      Object.assign(at(list(rack, 'bonds'), 0), { address: '10.0.2.12' });
      Object.assign(at(list(rack, 'vlans'), 0), { network: 'work', id: 20, address: '10.0.2.250' });
    },
    'nodes[0].vlans[0].address: 10.0.2.250 is taken: it is the virtual address of lab.yaml: clusters[0].vip',
    'nodes[1].interfaces[1].address: 10.0.2.12 is taken: it is the bond of lab.yaml: nodes[0].bonds[0].address',
  ],
  [
    'an address on a bond member that does not boot',
    (rack) => {
      nic(rack, 0, 1).address = '10.0.2.77';
    },
    'nodes[0].interfaces[1].address: eth1 is a member of bond0, and machines do not boot from work: give the address to bond0',
  ],
  [
    'a VLAN id that differs from its network or is used twice on one parent',
    (rack) => {
      at(list(rack, 'vlans'), 0).id = 31;
      list(rack, 'vlans').push({ name: 'again', id: 31, parent: 'bond0' });
    },
    'nodes[0].vlans[0].id: 31, but network storage is VLAN 30',
    'nodes[0].vlans[1].id: bond0.30 is already VLAN 31 of bond0',
  ],
  [
    'a VLAN whose parent is missing, a bond member, or itself',
    (rack) => {
      at(list(rack, 'vlans'), 0).parent = 'bond1';
      list(rack, 'vlans').push(
        { name: 'on-member', id: 5, parent: 'eth1' },
        { name: 'self', id: 6, parent: 'self' },
        { name: 'round', id: 7, parent: 'about' },
        { name: 'about', id: 7, parent: 'round' },
        { name: 'on-round', id: 8, parent: 'round' },
      );
    },
    'nodes[0].vlans[0].parent: no link is called bond1 (did you mean bond0?)',
    'nodes[0].vlans[1].parent: eth1 is a member of bond0; use bond0 as parent',
    'nodes[0].vlans[2].parent: self is its own parent, directly or through other VLANs',
    'nodes[0].vlans[3].parent: round is its own parent, directly or through other VLANs',
    'nodes[0].vlans[4].parent: about is its own parent, directly or through other VLANs',
  ],
  [
    'an MTU larger than the MTU of the parent',
    (rack) => {
      Object.assign(at(list(rack, 'bonds'), 0), { mtu: 8000 });
      nic(rack, 0, 1).mtu = 1500;
      list(rack, 'vlans').push(
        { name: 'jumbo', id: 31, parent: 'eth0', mtu: 1501 },
        { name: 'usual', id: 32, parent: 'eth0', mtu: 1500 },
        { name: 'inner', id: 33, parent: 'usual', mtu: 1600 },
      );
    },
    'nodes[0].bonds[0].members[0]: eth1 has mtu 1500, less than mtu 8000 of bond0',
    'nodes[0].vlans[0].mtu: 9000 is larger than mtu 8000 of its parent bond0',
    'nodes[0].vlans[1].mtu: 1501 is larger than mtu 1500 of its parent eth0',
    'nodes[0].vlans[3].mtu: 1600 is larger than mtu 1500 of its parent usual',
  ],
  [
    'a link on a network that does not exist or is at another site',
    (rack) => {
      rack.sites.push({ name: 'annex', region: 'north' });
      for (const list of [rack.networks, rack.clusters, rack.nodes]) for (const one of list) one.site = 'lab';
      network(rack, 2).site = 'annex';
      Object.assign(at(list(rack, 'bonds'), 0), { network: 'works' });
    },
    'nodes[0].bonds[0].network: unknown network: works (did you mean work?)',
    'nodes[0].vlans[0].network: network storage is at site annex, the node at lab',
  ],
  [
    'a cluster member without an address on the network of the cluster',
    (rack) => {
      const { address: _, ...rest } = at(list(rack, 'bonds'), 0);
      list(rack, 'bonds')[0] = rest;
    },
    'nodes[0].interfaces: has no address on work, the network of cluster prod',
  ],
  [
    'invalid link values',
    (rack) => {
      Object.assign(at(list(rack, 'bonds'), 0), { mode: '802.3af', mtu: 9000.5 });
      Object.assign(at(list(rack, 'vlans'), 0), { id: 4095, mtu: 100 });
    },
    'nodes[0].bonds[0].mode: must be one of active-backup, 802.3ad, balance-xor, balance-rr, balance-alb: 802.3af (did you mean 802.3ad?)',
    'nodes[0].bonds[0].mtu: must be a whole number: 9000.5',
    'nodes[0].vlans[0].id: must be 1 to 4094: 4095',
    'nodes[0].vlans[0].mtu: must be 576 to 65520: 100',
  ],
];

describe('the links of a node', () => {
  it('may be interfaces, a bond of them and a VLAN on the bond', () => {
    expect(problemsOf(bonded())).toEqual([]);
    const spec = declaredBy({ lab: bonded() })[0]?.declared.nodes[0];
    expect(spec?.bonds).toEqual([{ ...BOND, mtu: 9000 }]);
    expect(spec?.vlans).toEqual([
      { name: 'bond0.30', id: 30, parent: 'bond0', network: 'storage', address: '10.0.3.11', mtu: null },
    ]);
    expect(spec?.interfaces.map(({ name, mtu }) => [name, mtu])).toEqual([
      ['eth0', null],
      ['eth1', null],
      ['eth2', null],
    ]);
  });

  it('may give the boot address of a member to the bond', () => {
    const rack = bonded();
    Object.assign(node(rack, 0), { bonds: [{ ...BOND, members: ['eth0', 'eth1'] }] });
    Object.assign(node(rack, 0), { vlans: [] });
    expect(problemsOf(rack)).toEqual([]);
    Object.assign(node(rack, 0), {
      bonds: [{ ...BOND, members: ['eth0', 'eth1'], network: 'boot', address: '10.0.1.11' }],
      vlans: [{ name: 'tagged', id: 20, parent: 'bond0', network: 'work', address: '10.0.2.11' }],
    });
    expect(problemsOf(rack)).toEqual([]);
  });

  for (const [sentence, breakIt, ...problems] of ROWS) {
    it(`are rejected with ${sentence}`, () => {
      const rack = bonded();
      breakIt(rack);
      expect(problemsOf(rack).sort()).toEqual(problems.map((problem) => `lab.yaml: ${problem}`).sort());
    });
  }
});
