// Interprets systemd-networkd's files, for kernels without bonds and VLANs.

import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import { expectedLinks, type KernelLink } from './network-model.ts';

type Sections = readonly { readonly name: string; readonly values: ReadonlyMap<string, readonly string[]> }[];

/** `files` by path: .link, .netdev and .network files. */
export function networkdLinks(files: ReadonlyMap<string, string>, plan: NodePlan): KernelLink[] {
  const read = [...files].map(([path, text]) => ({ path, sections: sectionsOf(text) }));
  const ending = (suffix: string): Sections[] =>
    read.filter(({ path }) => path.endsWith(suffix)).map(({ sections }) => sections);
  const networks = ending('.network');
  return expectedLinks(plan).flatMap((expected) => {
    const network = networks.find((one) => first(one, 'Match', 'Name') === expected.name);
    if (!network) return [];
    const netdev = ending('.netdev').find((one) => first(one, 'NetDev', 'Name') === expected.name);
    const link = ending('.link').find((one) => first(one, 'Link', 'Name') === expected.name);
    const parent = networks.find((one) => all(one, 'Network', 'VLAN').includes(expected.name));
    const mtu = first(network, 'Link', 'MTUBytes') ?? (parent && first(parent, 'Link', 'MTUBytes')) ?? '1500';
    const mac =
      (netdev && first(netdev, 'NetDev', 'MACAddress')) ?? (link && first(link, 'Match', 'PermanentMACAddress'));
    return [
      {
        name: expected.name,
        mac: expected.mac === null ? null : (mac ?? null),
        mtu: Number(mtu),
        addresses: all(network, 'Network', 'Address'),
        master: first(network, 'Network', 'Bond'),
        bondMode: (netdev && first(netdev, 'Bond', 'Mode')) ?? null,
        vlan: parent && netdev ? `${first(netdev, 'VLAN', 'Id')} on ${first(parent, 'Match', 'Name')}` : null,
        routes: network
          .filter(({ name }) => name === 'Route')
          .map(({ values }) => `${destination(values.get('Destination')?.[0])} via ${values.get('Gateway')?.[0]}`)
          .sort(),
      },
    ];
  });
}

const destination = (to: string | undefined): string => (to === undefined || to === '0.0.0.0/0' ? 'default' : to);

const all = (sections: Sections, name: string, key: string): readonly string[] =>
  sections.filter((section) => section.name === name).flatMap(({ values }) => values.get(key) ?? []);
const first = (sections: Sections, name: string, key: string): string | null => all(sections, name, key)[0] ?? null;

export function sectionsOf(text: string): Sections {
  return text
    .split(/^\[/m)
    .slice(1)
    .map((part) => {
      const [name = '', ...lines] = part.split('\n');
      const values = new Map<string, string[]>();
      for (const line of lines) {
        const [, key, value] = /^([^=]+)=(.*)$/.exec(line) ?? [];
        if (key !== undefined && value !== undefined) values.set(key, [...(values.get(key) ?? []), value]);
      }
      return { name: name.replace(/\]$/, ''), values };
    });
}
