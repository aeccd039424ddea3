// The network in cloud-init's format version 2, which is netplan's: cloud images and Ubuntu's installer read it.

import { type SettledLink, settledLinks } from '../installers/settled-links.ts';
import type { NodePlan } from '../node-plan.ts';

export interface NetworkConfig {
  readonly version: 2;
  readonly ethernets?: Readonly<Record<string, object>>;
  readonly bonds?: Readonly<Record<string, object>>;
  readonly vlans?: Readonly<Record<string, object>>;
}

export function networkConfig(plan: NodePlan): NetworkConfig {
  const links = settledLinks(plan);
  const section = (key: 'ethernets' | 'bonds' | 'vlans', kind: SettledLink['kind']): object => {
    const own = links.filter((link) => link.kind === kind);
    return own.length === 0 ? {} : { [key]: Object.fromEntries(own.map((link) => [link.name, definition(link)])) };
  };
  return {
    version: 2,
    ...section('ethernets', 'ethernet'),
    ...section('bonds', 'bond'),
    ...section('vlans', 'vlan'),
  };
}

const definition = (link: SettledLink): object => ({
  ...identity(link),
  dhcp4: link.address === 'dhcp',
  // Older renderers ignore it without harm: there the lower metric decides.
  ...(link.withoutDefaultRoute ? { 'dhcp4-overrides': { 'use-routes': false } } : {}),
  ...(link.address === null || link.address === 'dhcp' ? {} : { addresses: [link.address] }),
  ...(link.mtu === null ? {} : { mtu: link.mtu }),
  ...(link.routes.length === 0 ? {} : { routes: link.routes.map(({ to, via }) => ({ to, via })) }),
  ...nameservers(link),
});

function identity(link: SettledLink): object {
  switch (link.kind) {
    case 'ethernet':
      return {
        // netplan renames only interfaces that have a match.
        ...(link.mac === null ? {} : { match: { macaddress: link.mac }, 'set-name': link.name }),
        ...(link.optional ? { optional: true } : {}),
      };
    case 'bond':
      return {
        interfaces: [...link.members],
        ...(link.mac === null ? {} : { macaddress: link.mac }),
        parameters: { mode: link.mode, 'mii-monitor-interval': MONITOR_MILLISECONDS },
      };
    case 'vlan':
      return { id: link.id, link: link.parent };
  }
}

/** Without it a bond does not detect that a cable was pulled. */
export const MONITOR_MILLISECONDS = 100;

function nameservers({ nameservers: addresses, searchDomains: search }: SettledLink): object {
  if (addresses.length === 0 && search.length === 0) return {};
  return {
    nameservers: {
      ...(search.length === 0 ? {} : { search: [...search] }),
      ...(addresses.length === 0 ? {} : { addresses: [...addresses] }),
    },
  };
}
