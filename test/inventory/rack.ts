// A small valid rack in the notation of a file; tests break it in one place at a time.

import { checkInventory, type DeclaredSource } from '../../appliance/inventory/check.ts';

type Fields = Record<string, unknown>;

export interface RackDocument {
  sites: Fields[];
  networks: (Fields & { pools: Fields[] })[];
  skus: Fields[];
  profiles: Fields[];
  clusters: Fields[];
  roce?: Fields[];
  nodes: (Fields & { interfaces: Fields[]; bmc: Fields })[];
}

export function rackDocument(): RackDocument {
  return {
    sites: [{ name: 'lab', region: 'north' }],
    networks: [
      {
        name: 'boot',
        prefix: '10.0.1.0/24',
        vlan: 10,
        gateway: '10.0.1.1',
        server: '10.0.1.2',
        pools: [{ from: '10.0.1.100', to: '10.0.1.199' }],
      },
      { name: 'work', prefix: '10.0.2.0/24', vlan: 20, pools: [] },
    ],
    skus: [
      { name: 'small', architecture: 'x86_64', gpus: 2, regions: ['north'] },
      { name: 'arm', architecture: 'arm64' },
      { name: 'gone', architecture: 'x86_64', active: false },
    ],
    profiles: [
      { name: 'nixos', kind: 'nixos', skus: ['small', 'gone'] },
      { name: 'debian', kind: 'cloud-image' },
      { name: 'old', kind: 'preseed', active: false },
    ],
    clusters: [{ name: 'prod', network: 'work', bootstrap: ['a1'], vip: '10.0.2.250' }],
    nodes: [rackNode('a1', 1), rackNode('a2', 2)],
  };
}

export const rackNode = (name: string, number: number) => ({
  name,
  sku: 'small',
  profile: 'nixos',
  cluster: 'prod',
  interfaces: [
    { name: 'eth0', mac: `52:54:00:00:01:0${number}`, network: 'boot', address: `10.0.1.1${number}` },
    { name: 'eth1', mac: `52:54:00:00:02:0${number}`, network: 'work', address: `10.0.2.1${number}` },
  ] as Fields[],
  bmc: { address: `10.0.9.1${number}` } as Fields,
});

export const problemsOf = (value: unknown): string[] =>
  checkInventory([{ file: 'lab.yaml', name: 'lab', value }]).problems;

/** The sources of documents that must be valid. */
export function declaredBy(documents: Readonly<Record<string, unknown>>): DeclaredSource[] {
  const raw = Object.entries(documents).map(([name, value]) => ({ file: `${name}.yaml`, name, value }));
  const { problems, sources } = checkInventory(raw);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  return sources;
}

/** An item of the list; a missing one is a bug in the test. */
export const at = <T>(list: readonly T[], index: number): T => {
  const item = list[index];
  if (item === undefined) throw new Error(`the rack has no item ${index}`);
  return item;
};
export const node = (rack: RackDocument, index: number) => at(rack.nodes, index);
export const nic = (rack: RackDocument, index: number, card: number) => at(node(rack, index).interfaces, card);
export const network = (rack: RackDocument, index: number) => at(rack.networks, index);
