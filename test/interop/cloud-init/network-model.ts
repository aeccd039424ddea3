// The links of a plan as the kernel must have them, and as `ip -json` reports them.

import { settledLinks } from '../../../appliance/render/installers/settled-links.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';

export interface KernelLink {
  readonly name: string;
  readonly mac: string | null;
  readonly mtu: number;
  readonly addresses: readonly string[];
  readonly master: string | null;
  readonly bondMode: string | null;
  readonly vlan: string | null;
  readonly routes: readonly string[];
}

const DEFAULT_MTU = 1500;

/** Links without a MAC in the plan are compared without it; those with DHCP have no address here. */
export const expectedLinks = (plan: NodePlan): KernelLink[] =>
  settledLinks(plan)
    .map((link) => ({
      name: link.name,
      mac: link.kind === 'vlan' || (link.kind === 'ethernet' && link.bond !== null) ? null : link.mac,
      mtu: link.mtu ?? (link.kind === 'vlan' ? parentMtu(plan, link.parent) : DEFAULT_MTU),
      addresses: link.address === null || link.address === 'dhcp' ? [] : [link.address],
      master: link.kind === 'ethernet' ? link.bond : null,
      bondMode: link.kind === 'bond' ? link.mode : null,
      vlan: link.kind === 'vlan' ? `${link.id} on ${link.parent}` : null,
      routes: link.routes.map(({ to, via }) => `${to === '0.0.0.0/0' ? 'default' : to} via ${via}`).sort(),
    }))
    .sort(byName);

const parentMtu = (plan: NodePlan, name: string): number =>
  plan.links.find((link) => link.name === name)?.mtu ?? DEFAULT_MTU;

const byName = (a: { readonly name: string }, b: { readonly name: string }): number => (a.name < b.name ? -1 : 1);

interface IpLink {
  readonly ifname: string;
  readonly address: string;
  readonly mtu: number;
  readonly master?: string;
  readonly link?: string;
  readonly linkinfo?: {
    readonly info_kind?: string;
    readonly info_data?: { readonly mode?: string; readonly id?: number };
  };
  readonly addr_info: readonly { readonly family: string; readonly local: string; readonly prefixlen: number }[];
}

interface IpRoute {
  readonly dst: string;
  readonly gateway?: string;
  readonly dev: string;
}

/** From `ip -details -json address` and `ip -json route`; only links that the plan names. */
export function actualLinks(addressJson: string, routeJson: string, plan: NodePlan): KernelLink[] {
  const links: readonly IpLink[] = JSON.parse(addressJson);
  const routes: readonly IpRoute[] = JSON.parse(routeJson);
  const expected = expectedLinks(plan);
  return links
    .flatMap((link) => {
      const planned = expected.find(({ name }) => name === link.ifname);
      if (!planned) return [];
      const kind = link.linkinfo?.info_kind;
      return [
        {
          name: link.ifname,
          mac: planned.mac === null ? null : link.address,
          mtu: link.mtu,
          addresses: link.addr_info
            .filter(({ family }) => family === 'inet')
            .map(({ local, prefixlen }) => `${local}/${prefixlen}`),
          master: link.master ?? null,
          bondMode: kind === 'bond' ? (link.linkinfo?.info_data?.mode ?? null) : null,
          vlan: kind === 'vlan' ? `${link.linkinfo?.info_data?.id} on ${link.link}` : null,
          routes: routes
            .filter(({ dev, gateway }) => dev === link.ifname && gateway !== undefined)
            .map(({ dst, gateway }) => `${dst} via ${gateway}`)
            .sort(),
        },
      ];
    })
    .sort(byName);
}
