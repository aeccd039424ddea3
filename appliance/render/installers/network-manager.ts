// The network as NetworkManager keyfiles (nm-settings-keyfile(5)), for RHEL-like systems and CoreOS.

import { MONITOR_MILLISECONDS } from '../cloud-init/network-config.ts';
import type { NodePlan } from '../node-plan.ts';
import type { TargetFile } from './first-boot.ts';
import { linkFiles } from './networkd.ts';
import { type Entry, type Section, sectionsText } from './sections.ts';
import { DEFAULT_ROUTE, type SettledLink, settledLinks } from './settled-links.ts';

export const CONNECTIONS_FOLDER = '/etc/NetworkManager/system-connections';

export const networkManagerFiles = (plan: NodePlan): TargetFile[] =>
  settledLinks(plan).flatMap((link) => [...linkFiles(link), keyfile(link)]);

function keyfile(link: SettledLink): TargetFile {
  const name = `${link.name}.nmconnection`;
  const text = sectionsText(name, [
    ['connection', connectionEntries(link)],
    ...ownSections(link),
    ...(link.kind === 'ethernet' && link.bond !== null ? [] : addressSections(link)),
  ]);
  // NetworkManager ignores a keyfile that others can read.
  return { path: `${CONNECTIONS_FOLDER}/${name}`, text, mode: 0o600 };
}

const connectionEntries = (link: SettledLink): readonly Entry[] => [
  ['id', link.name],
  ['type', link.kind],
  ['interface-name', link.name],
  ...(link.kind === 'ethernet' && link.bond !== null
    ? ([
        ['master', link.bond],
        ['slave-type', 'bond'],
      ] as const)
    : []),
  // Preferred over the connection that the installer or the initramfs created for the same interface.
  ['autoconnect-priority', 100],
];

function ownSections(link: SettledLink): Section[] {
  const ethernet: Entry[] = [
    ...(link.kind === 'ethernet' && link.mac !== null ? [['mac-address', link.mac] as const] : []),
    ...(link.kind === 'bond' && link.mac !== null ? [['cloned-mac-address', link.mac] as const] : []),
    ...(link.mtu === null ? [] : [['mtu', link.mtu] as const]),
  ];
  switch (link.kind) {
    case 'ethernet':
      return [['ethernet', ethernet]];
    case 'bond':
      return [
        [
          'bond',
          [
            ['mode', link.mode],
            ['miimon', MONITOR_MILLISECONDS],
          ],
        ],
        ['ethernet', ethernet],
      ];
    case 'vlan':
      return [
        [
          'vlan',
          [
            ['id', link.id],
            ['parent', link.parent],
          ],
        ],
        ['ethernet', ethernet],
      ];
  }
}

function addressSections(link: SettledLink): Section[] {
  if (link.address === null) {
    return [
      ['ipv4', [['method', 'disabled']]],
      ['ipv6', [['method', 'disabled']]],
    ];
  }
  const gateway = link.routes.find(({ to }) => to === DEFAULT_ROUTE)?.via;
  const others = link.routes.filter(({ to }) => to !== DEFAULT_ROUTE);
  const address: readonly Entry[] =
    link.address === 'dhcp'
      ? [['method', 'auto']]
      : [
          ['method', 'manual'],
          ['address1', gateway === undefined ? link.address : `${link.address},${gateway}`],
        ];
  return [
    [
      'ipv4',
      [
        ...address,
        ...others.map(({ to, via }, index) => [`route${index + 1}`, `${to},${via}`] as const),
        ...(link.withoutDefaultRoute ? [['never-default', 'true'] as const] : []),
        ...list('dns', link.nameservers),
        ...list('dns-search', link.searchDomains),
      ],
    ],
  ];
}

/** Each item ends with a semicolon, including the last. */
const list = (key: string, items: readonly string[]): Entry[] =>
  items.length === 0 ? [] : [[key, items.map((item) => `${item};`).join('')]];
