import { describe, expect, it } from 'vitest';
import { at, network, nic, node, problemsOf, type RackDocument, rackDocument } from './rack.ts';

type Row = readonly [sentence: string, breakIt: (rack: RackDocument) => void, ...problems: string[]];

const ROWS: readonly Row[] = [
  [
    'a site that does not exist, without follow-up problems',
    (rack) => {
      network(rack, 1).site = 'labs';
      at(rack.clusters, 0).site = 'moon';
      node(rack, 0).site = 'moon';
    },
    'networks[1].site: unknown site: labs (did you mean lab?)',
    'nodes[0].site: unknown site: moon',
    'clusters[0].site: unknown site: moon',
  ],
  [
    'a missing site when there are several',
    (rack) => {
      rack.sites.push({ name: 'annex' });
      for (const list of [rack.networks, rack.nodes]) for (const one of list) one.site = 'lab';
    },
    'clusters[0].site: is missing; choose one of lab, annex',
  ],
  [
    'a missing site when none is declared',
    (rack) => {
      rack.sites = [];
      Object.assign(at(rack.skus, 0), { regions: [] });
    },
    'networks[0].site: is missing, and no site is declared',
    'networks[1].site: is missing, and no site is declared',
    'clusters[0].site: is missing, and no site is declared',
  ],
  [
    'a node at another site than its network and its cluster',
    (rack) => {
      rack.sites.push({ name: 'annex', region: 'north' });
      for (const list of [rack.networks, rack.clusters, rack.nodes]) for (const one of list) one.site = 'lab';
      node(rack, 1).site = 'annex';
    },
    'nodes[1].cluster: cluster prod is at site lab, the node at annex',
    'nodes[1].interfaces[0].network: network boot is at site lab, the node at annex',
    'nodes[1].interfaces[1].network: network work is at site lab, the node at annex',
  ],
  [
    'references to objects that do not exist',
    (rack) => {
      Object.assign(node(rack, 0), { sku: 'smal', profile: 'nix-os', cluster: 'test' });
      nic(rack, 1, 0).network = 'boots';
      Object.assign(at(rack.profiles, 1), { skus: ['tiny'] });
    },
    'profiles[1].skus[0]: unknown SKU: tiny',
    'nodes[0].sku: unknown SKU: smal (did you mean small?)',
    'nodes[0].profile: unknown profile: nix-os (did you mean nixos?)',
    'nodes[0].cluster: unknown cluster: test',
    'nodes[1].interfaces[0].network: unknown network: boots (did you mean boot?)',
  ],
  [
    'a SKU or a profile that is not active',
    (rack) => {
      node(rack, 0).sku = 'gone';
      node(rack, 1).profile = 'old';
    },
    'nodes[0].sku: SKU gone is not active',
    'nodes[1].profile: profile old is not active',
  ],
  [
    'an architecture that differs from the SKU or the profile',
    (rack) => {
      node(rack, 0).architecture = 'arm64';
      Object.assign(node(rack, 1), { sku: 'arm', profile: 'debian' });
    },
    'nodes[0].architecture: arm64, but SKU small is x86_64',
    'nodes[0].profile: profile nixos is for x86_64, the node is arm64',
    'nodes[1].profile: profile debian is for x86_64, the node is arm64',
  ],
  [
    'a profile that is not for the SKU',
    (rack) => {
      Object.assign(at(rack.profiles, 0), { skus: ['gone'] });
      node(rack, 1).profile = 'debian';
    },
    'nodes[0].profile: profile nixos is not for SKU small (gone)',
  ],
  [
    'a GPU count or a region that the SKU does not allow',
    (rack) => {
      Object.assign(node(rack, 0), { gpus: 8, region: 'south' });
      Object.assign(node(rack, 1), { gpus: 2, region: 'north' });
    },
    'nodes[0].gpus: 8, but SKU small has 2',
    'nodes[0].region: south, but SKU small is only for north',
  ],
  [
    'a missing region when the SKU is limited to regions',
    (rack) => {
      rack.sites = [{ name: 'lab' }];
      node(rack, 0).region = 'north';
    },
    'nodes[1].region: is missing, and the site has none: SKU small is only for north',
  ],
  [
    'a cluster whose network does not exist',
    (rack) => {
      at(rack.clusters, 0).network = 'wrok';
    },
    'clusters[0].network: unknown network: wrok',
  ],
  [
    'bootstrap members that do not exist, are not in the cluster, or are listed twice',
    (rack) => {
      at(rack.clusters, 0).bootstrap = ['a1', 'a9', 'a1', 'a2'];
      delete (node(rack, 1) as Record<string, unknown>).cluster;
    },
    'clusters[0].bootstrap[1]: unknown node: a9',
    'clusters[0].bootstrap[2]: lists a1 twice',
    'clusters[0].bootstrap[3]: a2 is not in this cluster; see lab.yaml: nodes[1].cluster',
  ],
  [
    "a member without an address on the cluster's network",
    (rack) => {
      delete nic(rack, 1, 1).address;
    },
    'nodes[1].interfaces: has no address on work, the network of cluster prod',
  ],
  [
    'a virtual address outside the network',
    (rack) => {
      at(rack.clusters, 0).vip = '10.0.7.7';
    },
    'clusters[0].vip: 10.0.7.7 is outside 10.0.2.0/24 (work)',
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
