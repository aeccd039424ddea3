import { describe, expect, it } from 'vitest';
import { at, network, nic, node, problemsOf, type RackDocument, rackDocument, rackNode } from './rack.ts';

type Row = readonly [sentence: string, breakIt: (rack: RackDocument) => void, ...problems: string[]];

const ROWS: readonly Row[] = [
  [
    'two objects with the same name',
    (rack) => rack.skus.push({ name: 'small', architecture: 'x86_64', gpus: 2 }),
    'skus[3].name: small is taken by lab.yaml: skus[0].name',
  ],
  [
    'two nodes with the same name',
    (rack) => {
      node(rack, 1).name = 'a1';
    },
    'nodes[1].name: a1 is taken by lab.yaml: nodes[0].name',
  ],
  [
    'a MAC address of two nodes in different notations',
    (rack) => {
      nic(rack, 1, 0).mac = '5254.0000.0101';
    },
    'nodes[1].interfaces[0].mac: 52:54:00:00:01:01 is taken by lab.yaml: nodes[0].interfaces[0].mac',
  ],
  [
    'a chassis UUID of two nodes',
    (rack) => {
      for (const one of rack.nodes) one.uuid = '7c1e2d80-9d4b-4b1f-8a39-0c2f6f0a7d11';
    },
    'nodes[1].uuid: 7c1e2d80-9d4b-4b1f-8a39-0c2f6f0a7d11 is taken by lab.yaml: nodes[0].uuid',
  ],
  [
    'two interfaces of a node with the same name',
    (rack) => {
      nic(rack, 0, 1).name = 'eth0';
    },
    'nodes[0].interfaces[1].name: eth0 is taken by lab.yaml: nodes[0].interfaces[0].name',
  ],
  [
    'an address of two nodes',
    (rack) => {
      nic(rack, 1, 0).address = '10.0.1.11';
    },
    'nodes[1].interfaces[0].address: 10.0.1.11 is taken: it is the interface of lab.yaml: nodes[0].interfaces[0].address',
  ],
  [
    'a BMC address of two nodes',
    (rack) => {
      node(rack, 1).bmc.address = '10.0.9.11';
    },
    'nodes[1].bmc.address: 10.0.9.11 is taken: it is the BMC of lab.yaml: nodes[0].bmc.address',
  ],
  [
    'a BMC with the address of an interface',
    (rack) => {
      node(rack, 1).bmc.address = '10.0.1.11';
    },
    'nodes[1].bmc.address: 10.0.1.11 is taken: it is the interface of lab.yaml: nodes[0].interfaces[0].address',
  ],
  [
    'a node with the address of the gateway',
    (rack) => {
      nic(rack, 0, 0).address = '10.0.1.1';
    },
    'nodes[0].interfaces[0].address: 10.0.1.1 is taken: it is the gateway of lab.yaml: networks[0].gateway',
  ],
  [
    'a node with the address of the appliance',
    (rack) => {
      nic(rack, 0, 0).address = '10.0.1.2';
    },
    'nodes[0].interfaces[0].address: 10.0.1.2 is taken: it is the server of lab.yaml: networks[0].server',
  ],
  [
    'a node with a virtual address of a cluster',
    (rack) => {
      nic(rack, 0, 1).address = '10.0.2.250';
    },
    'nodes[0].interfaces[1].address: 10.0.2.250 is taken: it is the virtual address of lab.yaml: clusters[0].vip',
  ],
  [
    'a gateway in a pool',
    (rack) => {
      network(rack, 0).gateway = '10.0.1.100';
    },
    'networks[0].gateway: 10.0.1.100 is in the pool lab.yaml: networks[0].pools[0]',
  ],
  [
    'the appliance in a pool',
    (rack) => {
      network(rack, 0).server = '10.0.1.150';
    },
    'networks[0].server: 10.0.1.150 is in the pool lab.yaml: networks[0].pools[0]',
  ],
  [
    'a reservation in a pool',
    (rack) => {
      nic(rack, 0, 0).address = '10.0.1.199';
    },
    'nodes[0].interfaces[0].address: 10.0.1.199 is in the pool lab.yaml: networks[0].pools[0]',
  ],
  [
    'a BMC in a pool',
    (rack) => {
      node(rack, 0).bmc.address = '10.0.1.120';
    },
    'nodes[0].bmc.address: 10.0.1.120 is in the pool lab.yaml: networks[0].pools[0]',
  ],
  [
    'an address outside its network',
    (rack) => {
      nic(rack, 0, 0).address = '10.0.7.11';
    },
    'nodes[0].interfaces[0].address: 10.0.7.11 is outside 10.0.1.0/24 (boot)',
  ],
  [
    "a network's own address",
    (rack) => {
      nic(rack, 0, 0).address = '10.0.1.0';
    },
    'nodes[0].interfaces[0].address: 10.0.1.0 is the network address of 10.0.1.0/24 (boot)',
  ],
  [
    'a broadcast address, also for a BMC',
    (rack) => {
      nic(rack, 0, 0).address = '10.0.1.255';
      node(rack, 1).bmc.address = '10.0.2.255';
    },
    'nodes[0].interfaces[0].address: 10.0.1.255 is the broadcast address of 10.0.1.0/24 (boot)',
    'nodes[1].bmc.address: 10.0.2.255 is the broadcast address of 10.0.2.0/24',
  ],
  [
    'a gateway outside its network',
    (rack) => {
      network(rack, 0).gateway = '10.0.7.1';
    },
    'networks[0].gateway: 10.0.7.1 is outside 10.0.1.0/24',
  ],
  [
    'an appliance on the broadcast address',
    (rack) => {
      network(rack, 0).server = '10.0.1.255';
    },
    'networks[0].server: 10.0.1.255 is the broadcast address of 10.0.1.0/24',
  ],
  [
    'a pool outside its network',
    (rack) => network(rack, 1).pools.push({ from: '10.0.2.200', to: '10.0.3.10' }),
    'networks[1].pools[0]: 10.0.3.10 is outside 10.0.2.0/24',
  ],
  [
    'a pool that ends before it starts',
    (rack) => network(rack, 1).pools.push({ from: '10.0.2.200', to: '10.0.2.100' }),
    'networks[1].pools[0]: ends before it starts: 10.0.2.200 to 10.0.2.100',
  ],
  [
    'overlapping pools, also with another pool between them',
    (rack) =>
      network(rack, 0).pools.push(
        { from: '10.0.1.90', to: '10.0.1.100' },
        { from: '10.0.1.110', to: '10.0.1.120' },
        { from: '10.0.1.150', to: '10.0.1.160' },
      ),
    'networks[0].pools[1]: overlaps pools[0]',
    'networks[0].pools[2]: overlaps pools[0]',
    'networks[0].pools[3]: overlaps pools[0]',
  ],
  [
    'overlapping networks of a site',
    (rack) => rack.networks.push({ name: 'wide', prefix: '10.0.0.0/16', pools: [] }),
    'networks[2].prefix: 10.0.0.0/16 overlaps 10.0.1.0/24 of lab.yaml: networks[0].prefix',
    'networks[2].prefix: 10.0.0.0/16 overlaps 10.0.2.0/24 of lab.yaml: networks[1].prefix',
  ],
  [
    'overlapping networks of two sites that this appliance serves with DHCP',
    (rack) => {
      rack.sites.push({ name: 'other' });
      for (const object of [...rack.networks, ...rack.clusters, ...rack.nodes]) Object.assign(object, { site: 'lab' });
      const served = { dhcp: 'authoritative', server: '192.0.2.1', pools: [] };
      Object.assign(network(rack, 0), { ...served, interface: 'eth1' });
      rack.networks.push(
        { name: 'twin', site: 'other', prefix: '10.0.1.0/25', ...served, interface: 'eth2' },
        { name: 'quiet-twin', site: 'other', prefix: '10.0.2.0/24', pools: [] },
      );
    },
    'networks[2].prefix: 10.0.1.0/25 overlaps 10.0.1.0/24 of lab.yaml: networks[0].prefix',
  ],
  [
    'two local networks on one interface',
    (rack) => {
      Object.assign(network(rack, 0), { dhcp: 'authoritative', interface: 'eth1', server: '10.0.1.2' });
      Object.assign(network(rack, 1), { dhcp: 'proxy', interface: 'eth1', server: '10.0.2.2' });
    },
    'networks[1].interface: eth1 already serves another local network (lab.yaml: networks[0].interface); use a VLAN interface or a relay for this one',
  ],
  [
    'a VLAN of two networks of a site',
    (rack) => {
      network(rack, 1).vlan = 10;
    },
    'networks[1].vlan: 10 is taken by lab.yaml: networks[0].vlan',
  ],
  [
    'DHCP without an interface or a server address',
    (rack) => {
      network(rack, 0).dhcp = 'proxy';
      Object.assign(network(rack, 1), { dhcp: 'authoritative', interface: 'eth0' });
    },
    'networks[0].interface: is missing: dhcp: proxy requires an interface',
    'networks[1].server: is missing: dhcp: authoritative requires a server address',
  ],
  [
    'DHCP behind a relay when no network has an interface',
    (rack) => {
      Object.assign(network(rack, 0), { dhcp: 'authoritative', server: '192.0.2.1' });
    },
    'networks[0].interface: is missing: no network with dhcp has one; declare the interface that receives relayed requests for 192.0.2.1',
  ],
];

describe('an inventory is rejected for', () => {
  for (const [sentence, breakIt, ...problems] of ROWS) {
    it(sentence, () => {
      const rack = rackDocument();
      breakIt(rack);
      expect(problemsOf(rack)).toEqual(problems.map((problem) => `lab.yaml: ${problem}`));
    });
  }
});

describe('an inventory may have', () => {
  it('no problems', () => {
    expect(problemsOf(rackDocument())).toEqual([]);
  });

  it('the appliance as gateway, and an appliance behind a router', () => {
    const rack = rackDocument();
    network(rack, 0).server = '10.0.1.1';
    network(rack, 1).server = '192.168.7.7';
    expect(problemsOf(rack)).toEqual([]);
  });

  it('DHCP for a relayed network without an interface, next to one with an interface', () => {
    const rack = rackDocument();
    Object.assign(network(rack, 0), { dhcp: 'authoritative', interface: 'eth1' });
    Object.assign(network(rack, 1), { dhcp: 'authoritative', server: '10.0.1.2' });
    expect(problemsOf(rack)).toEqual([]);
  });

  it('the same prefix, VLAN and addresses at two sites', () => {
    const rack = rackDocument();
    for (const list of [rack.networks, rack.clusters, rack.nodes]) for (const one of list) one.site = 'lab';
    rack.sites.push({ name: 'annex', region: 'north' });
    rack.networks.push({ name: 'annex-boot', site: 'annex', prefix: '10.0.1.0/24', vlan: 10, pools: [] });
    rack.nodes.push({
      ...rackNode('b1', 3),
      site: 'annex',
      cluster: undefined,
      interfaces: [{ name: 'eth0', network: 'annex-boot', address: '10.0.1.11' }],
    } as never);
    delete (at(rack.nodes, 2) as Record<string, unknown>).cluster;
    expect(problemsOf(rack)).toEqual([]);
  });
});
