// The links of an installed node: the network of each, and the link of the default route.

import type { Ipv4 } from '../domain/ipv4.ts';
import type { MachineBond, MachineInterface, MachineSpec, MachineVlan } from '../domain/machine.ts';
import { type NetworkPurpose, purposeOf, type SiteNetwork } from '../domain/network.ts';
import type { PlannedLink } from './node-plan.ts';
import type { PlanIndex } from './plan-index.ts';

type DeclaredLink = MachineInterface | MachineBond | MachineVlan;

export function planLinks(index: PlanIndex, spec: MachineSpec): PlannedLink[] {
  const bondOf = new Map(spec.bonds.flatMap((bond) => bond.members.map((member) => [member, bond] as const)));
  const mtuOf = (link: DeclaredLink): number | null => link.mtu ?? networkOf(index, link)?.mtu ?? null;
  return [
    ...spec.interfaces.map((nic): PlannedLink => {
      const { name, mac } = nic;
      const bond = bondOf.get(name);
      if (!bond) return { kind: 'ethernet', name, mac, ...onNetwork(index, nic) };
      // Its address is for booting only: a member of a bond has none.
      const { purpose } = onNetwork(index, nic);
      const mtu = nic.mtu ?? mtuOf(bond);
      return { kind: 'ethernet', name, mac, network: null, purpose, mtu, address: null, routes: [] };
    }),
    ...spec.bonds.map((bond): PlannedLink => {
      const { name, mode, members } = bond;
      return { kind: 'bond', name, mode, members, ...onNetwork(index, bond) };
    }),
    ...carriersFirst(spec.vlans).map((vlan): PlannedLink => {
      const { name, id, parent } = vlan;
      return { kind: 'vlan', name, id, parent, ...onNetwork(index, vlan) };
    }),
  ];
}

function onNetwork(index: PlanIndex, link: DeclaredLink) {
  const network = networkOf(index, link);
  const address = addressOn(network, link.address);
  return {
    network: link.network,
    purpose: network ? purposeOf(network) : 'other',
    mtu: link.mtu ?? network?.mtu ?? null,
    address,
    routes: network && address !== null ? network.routes : [],
  } as const;
}

const networkOf = (index: PlanIndex, { network }: DeclaredLink): SiteNetwork | null =>
  network === null ? null : (index.networks.get(network) ?? null);

/** Without a DHCP server, requesting an address would only delay the boot. */
function addressOn(network: SiteNetwork | null, ip: Ipv4 | null): PlannedLink['address'] {
  if (network === null) return null;
  if (ip !== null) return { ip, prefix: network.prefix };
  return network.dhcp !== 'off' || network.pools.length > 0 ? 'dhcp' : null;
}

/** VLANs may be declared in any order, and on each other. */
function carriersFirst(vlans: readonly MachineVlan[]): MachineVlan[] {
  const placed: MachineVlan[] = [];
  let waiting = [...vlans];
  while (waiting.length > 0) {
    const carried = new Set(waiting.map(({ name }) => name));
    const next = waiting.filter(({ parent }) => !carried.has(parent));
    // A cycle cannot be declared; if there is one anyway, it must not cause an endless loop.
    if (next.length === 0) return [...placed, ...waiting];
    placed.push(...next);
    waiting = waiting.filter((vlan) => !next.includes(vlan));
  }
  return placed;
}

export const WORK_FIRST: readonly NetworkPurpose[] = ['production', 'other', 'provisioning'];

/** Links with an address, production links first. */
export const workingLinks = (links: readonly PlannedLink[]): PlannedLink[] =>
  WORK_FIRST.flatMap((purpose) => links.filter((link) => link.purpose === purpose && link.address !== null));

/** The static address of a node on a network, if any. */
export function addressOnNetwork(links: readonly PlannedLink[], network: SiteNetwork): Ipv4 | null {
  for (const link of links) {
    if (link.network === network.name && link.address !== null && link.address !== 'dhcp') return link.address.ip;
  }
  return null;
}
