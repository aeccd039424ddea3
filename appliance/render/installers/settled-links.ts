// The links of a plan as every network configuration needs them: which link has the default route and the name servers, and
// which ethernet links belong to a bond. RoCE links are ordinary ethernet links.

import { contains, prefixText } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { BondMode } from '../../domain/system.ts';
import type { NodePlan, PlannedLink } from '../node-plan.ts';

export interface SettledRoute {
  /** With prefix length; `0.0.0.0/0` is the default route. */
  readonly to: string;
  readonly via: string;
}

interface SettledBase {
  readonly name: string;
  readonly mtu: number | null;
  /** With prefix length; `dhcp`; null: no address. */
  readonly address: string | null;
  readonly routes: readonly SettledRoute[];
  /** Its address comes from DHCP, but the default route belongs to another link. */
  readonly withoutDefaultRoute: boolean;
  readonly nameservers: readonly string[];
  readonly searchDomains: readonly string[];
}

export type SettledLink = SettledBase &
  (
    | {
        readonly kind: 'ethernet';
        readonly mac: Mac | null;
        readonly bond: string | null;
        /** The boot does not wait for this link. */
        readonly optional: boolean;
      }
    | {
        readonly kind: 'bond';
        readonly mode: BondMode;
        readonly members: readonly string[];
        /** The first member's, so that neighbours see the same MAC address whichever member comes up first. */
        readonly mac: Mac | null;
      }
    | { readonly kind: 'vlan'; readonly id: number; readonly parent: string }
  );

export const DEFAULT_ROUTE = '0.0.0.0/0';

/** The link of the default route; null: none, or DHCP provides it. */
export function gatewayLink(plan: NodePlan): PlannedLink | null {
  const { gateway } = plan;
  if (gateway === null) return null;
  return (
    plan.links.find(({ address }) => address !== null && address !== 'dhcp' && contains(address.prefix, gateway)) ??
    null
  );
}

export function settledLinks(plan: NodePlan): SettledLink[] {
  const out = gatewayLink(plan);
  const resolving = out ?? byDhcp(plan) ?? plan.links.find((link) => link.address !== null) ?? null;
  const settledBase = (link: PlannedLink): SettledBase => ({
    name: link.name,
    mtu: link.mtu,
    address: addressText(link),
    routes: [
      ...(link === out && plan.gateway !== null ? [{ to: DEFAULT_ROUTE, via: plan.gateway }] : []),
      ...link.routes.map(({ to, via }) => ({ to: prefixText(to), via })),
    ],
    withoutDefaultRoute: link.address === 'dhcp' && out !== null,
    nameservers: link === resolving ? plan.nameservers : [],
    searchDomains: link === resolving ? plan.searchDomains : [],
  });
  return [...plan.links.map((link) => settled(link, settledBase(link), plan)), ...roceLinks(plan)];
}

function settled(link: PlannedLink, base: SettledBase, plan: NodePlan): SettledLink {
  switch (link.kind) {
    case 'ethernet':
      return { ...base, kind: 'ethernet', mac: link.mac, bond: bondOf(plan, link.name), optional: false };
    case 'bond':
      return { ...base, kind: 'bond', mode: link.mode, members: link.members, mac: macOf(plan, link.members[0]) };
    case 'vlan':
      return { ...base, kind: 'vlan', id: link.id, parent: link.parent };
  }
}

export const byDhcp = (plan: NodePlan): PlannedLink | null =>
  plan.links.find((link) => link.address === 'dhcp') ?? null;

function addressText({ address }: PlannedLink): string | null {
  if (address === null || address === 'dhcp') return address;
  return `${address.ip}/${address.prefix.length}`;
}

const bondOf = (plan: NodePlan, name: string): string | null =>
  plan.links.find((link) => link.kind === 'bond' && link.members.includes(name))?.name ?? null;

function macOf(plan: NodePlan, name: string | undefined): Mac | null {
  const link = plan.links.find((one) => one.name === name);
  return link?.kind === 'ethernet' ? link.mac : null;
}

const roceLinks = (plan: NodePlan): SettledLink[] =>
  plan.roce.map((link) => ({
    kind: 'ethernet',
    name: link.name,
    mac: link.mac,
    bond: null,
    // A missing cable on the RDMA network is diagnosed later; it must not delay the boot.
    optional: true,
    mtu: link.mtu,
    address: `${link.address}/${link.prefixLength}`,
    routes: [],
    withoutDefaultRoute: false,
    nameservers: [],
    searchDomains: [],
  }));
