// A plan's links as NixOS networking options.

import { gatewayLink } from '../installers/settled-links.ts';
import type { NodePlan, PlannedLink } from '../node-plan.ts';

interface InterfaceView {
  readonly name: string;
  readonly useDhcp: boolean;
  readonly address: { readonly address: string; readonly prefixLength: number } | null;
  readonly mtu: number | null;
  readonly routes: readonly { readonly address: string; readonly prefixLength: number; readonly via: string }[];
  readonly says: string;
}

interface LinksView {
  readonly usePredictableInterfaceNames: boolean;
  readonly interfaces: readonly InterfaceView[];
  readonly bonds: readonly { readonly name: string; readonly members: readonly string[]; readonly options: object }[];
  readonly vlans: readonly { readonly name: string; readonly id: number; readonly parent: string }[];
  /**
   * Interfaces that are named by MAC address. udev applies only the first matching file for an interface, which is ours:
   * NixOS' own file, with the MTU, comes later (40-NAME.link).
   */
  readonly namedCards: readonly {
    readonly name: string;
    readonly unit: string;
    readonly mac: string;
    readonly mtuBytes: string | null;
  }[];
  readonly gateway: { readonly address: string; readonly interface: string | null } | null;
  readonly lossless: readonly { readonly name: string; readonly priority: number }[];
}

export function linksView(plan: NodePlan): LinksView {
  const { links, roce } = plan;
  const cards = [...links.flatMap((link) => (link.kind === 'ethernet' ? [link] : [])), ...roce];
  return {
    // Predictable names replace kernel names, so no interface would be called eth0.
    usePredictableInterfaceNames: !cards.some(({ name }) => /^eth\d+$/.test(name)),
    interfaces: [...links.map(interfaceView), ...roce.map(losslessView)],
    bonds: links.flatMap((link) =>
      link.kind === 'bond' ? [{ name: link.name, members: link.members, options: bondOptions(link.mode) }] : [],
    ),
    vlans: links.flatMap((link) =>
      link.kind === 'vlan' ? [{ name: link.name, id: link.id, parent: link.parent }] : [],
    ),
    namedCards: cards.flatMap(({ name, mac, mtu }) =>
      mac === null ? [] : [{ name, unit: `10-${name}`, mac, mtuBytes: mtu === null ? null : String(mtu) }],
    ),
    gateway: plan.gateway === null ? null : { address: plan.gateway, interface: gatewayLink(plan)?.name ?? null },
    lossless: roce.flatMap(({ name, priority }) => (priority === null ? [] : [{ name, priority }])),
  };
}

function interfaceView(link: PlannedLink): InterfaceView {
  const { name, mtu, address, routes } = link;
  return {
    name,
    useDhcp: address === 'dhcp',
    address:
      address === null || address === 'dhcp' ? null : { address: address.ip, prefixLength: address.prefix.length },
    mtu,
    routes: routes.map(({ to, via }) => ({ address: to.network, prefixLength: to.length, via })),
    says: purposeText(link),
  };
}

const losslessView = ({ name, address, prefixLength, mtu }: NodePlan['roce'][number]): InterfaceView => ({
  name,
  useDhcp: false,
  address: { address, prefixLength },
  mtu,
  routes: [],
  says: 'lossless',
});

function purposeText({ purpose, network }: PlannedLink): string {
  if (network === null) return purpose === 'other' ? 'only carries other links' : purpose;
  return purpose === 'other' || network === purpose ? network : `${purpose}: ${network}`;
}

/** The driver's option names; without link monitoring a bond does not detect that a cable was pulled. */
const bondOptions = (mode: string): object => ({
  mode,
  miimon: '100',
  ...(mode === '802.3ad' ? { lacp_rate: 'fast' } : {}),
  ...(mode === '802.3ad' || mode === 'balance-xor' ? { xmit_hash_policy: 'layer3+4' } : {}),
});
