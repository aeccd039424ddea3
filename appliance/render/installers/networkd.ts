// The network for systemd-networkd (systemd.link(5), systemd.netdev(5), systemd.network(5)): used for Debian's installer,
// because it is on every system, renames links, and needs no further package for bonds and VLANs.

import { MONITOR_MILLISECONDS } from '../cloud-init/network-config.ts';
import type { NodePlan } from '../node-plan.ts';
import type { TargetFile } from './first-boot.ts';
import { type Entry, type Section, sectionsText } from './sections.ts';
import { DEFAULT_ROUTE, type SettledLink, settledLinks } from './settled-links.ts';

const FOLDER = '/etc/systemd/network';

export function networkdFiles(plan: NodePlan): TargetFile[] {
  const links = settledLinks(plan);
  return links.flatMap((link) => [
    ...linkFiles(link),
    ...netdevFiles(link),
    file(`20-${link.name}.network`, [
      ['Match', [['Name', link.name]]],
      ['Link', linkEntries(link)],
      ['Network', networkEntries(link, links)],
      ...link.routes.map(
        ({ to, via }): Section => [
          'Route',
          [...(to === DEFAULT_ROUTE ? [] : [['Destination', to] as const]), ['Gateway', via]],
        ],
      ),
      ...(link.withoutDefaultRoute ? [['DHCPv4', [['UseRoutes', 'no']]] as const] : []),
    ]),
  ]);
}

/** Names the interface with this MAC address. Every udev reads it, even if something else configures the network. */
export function linkFiles(link: SettledLink): TargetFile[] {
  if (link.kind !== 'ethernet' || link.mac === null) return [];
  return [
    file(`10-${link.name}.link`, [
      ['Match', [['PermanentMACAddress', link.mac]]],
      ['Link', [['Name', link.name]]],
    ]),
  ];
}

function netdevFiles(link: SettledLink): TargetFile[] {
  if (link.kind === 'ethernet') return [];
  const kind: readonly Entry[] = [
    ['Name', link.name],
    ['Kind', link.kind],
    ...(link.kind === 'bond' && link.mac !== null ? [['MACAddress', link.mac] as const] : []),
  ];
  const own: Section =
    link.kind === 'bond'
      ? [
          'Bond',
          [
            ['Mode', link.mode],
            ['MIIMonitorSec', `${MONITOR_MILLISECONDS}ms`],
          ],
        ]
      : ['VLAN', [['Id', link.id]]];
  return [file(`20-${link.name}.netdev`, [['NetDev', kind], own])];
}

const linkEntries = (link: SettledLink): readonly Entry[] => [
  ...(link.mtu === null ? [] : [['MTUBytes', link.mtu] as const]),
  ...(link.kind === 'ethernet' && link.optional ? [['RequiredForOnline', 'no'] as const] : []),
];

function networkEntries(link: SettledLink, all: readonly SettledLink[]): readonly Entry[] {
  const carried = all.filter((other) => other.kind === 'vlan' && other.parent === link.name);
  return [
    ...(link.kind === 'ethernet' && link.bond !== null ? [['Bond', link.bond] as const] : []),
    ...(link.address === 'dhcp' ? [['DHCP', 'ipv4'] as const] : []),
    ...(link.address === null || link.address === 'dhcp' ? [] : [['Address', link.address] as const]),
    ...link.nameservers.map((server) => ['DNS', server] as const),
    ...(link.searchDomains.length === 0 ? [] : [['Domains', link.searchDomains.join(' ')] as const]),
    ...carried.map(({ name }) => ['VLAN', name] as const),
    ...(link.address === null ? [['LinkLocalAddressing', 'no'] as const] : []),
  ];
}

const file = (name: string, sections: readonly Section[]): TargetFile => ({
  path: `${FOLDER}/${name}`,
  text: sectionsText(name, sections),
  mode: 0o644,
});
