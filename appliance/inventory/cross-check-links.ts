// Checks the links of a node against each other: bond members, VLAN parents, networks and MTUs.

import { suggestion } from '../documents/nearest-name.ts';
import type { MachineBond, MachineVlan } from '../domain/machine.ts';
import { purposeOf } from '../domain/network.ts';
import type { Draft, Drafts, Entry, Findings, NodeDraft } from './drafts.ts';
import type { References } from './references.ts';

/** The MTU of a link without a declared one. */
const DEFAULT_MTU = 1500;

type Bond = Draft<MachineBond>;
type Vlan = Draft<MachineVlan>;

export function checkLinks(drafts: Drafts, references: References, findings: Findings): void {
  for (const node of drafts.nodes) {
    const { bonds, vlans } = node.draft;
    if (bonds?.length === 0 && vlans?.length === 0) continue;
    const links = new Links(node, references, findings);
    bonds?.forEach((bond, index) => {
      if (bond) links.checkBond(bond, `bonds[${index}]`);
    });
    links.checkMembers();
    vlans?.forEach((vlan, index) => {
      if (vlan) links.checkVlan(vlan, `vlans[${index}]`);
    });
  }
}

class Links {
  readonly #node: Entry<NodeDraft>;
  readonly #references: References;
  readonly #findings: Findings;
  /** The bond of each interface that is in one. */
  readonly #bondOf = new Map<string, string>();
  readonly #vlanIds = new Map<string, string>();

  constructor(node: Entry<NodeDraft>, references: References, findings: Findings) {
    this.#node = node;
    this.#references = references;
    this.#findings = findings;
  }

  checkBond(bond: Bond, field: string): void {
    this.#checkAddress(bond, field);
    const { interfaces } = this.#node.draft;
    const names = interfaces?.flatMap((nic) => nic?.name ?? []) ?? [];
    const unread = !interfaces || interfaces.some((nic) => nic?.name === undefined);
    bond.members?.forEach((member, index) => {
      const place = `${field}.members[${index}]`;
      const other = this.#bondOf.get(member);
      if (other !== undefined) this.#report(place, `${member} is already a member of ${other}`);
      else this.#bondOf.set(member, bond.name ?? field);
      if (names.includes(member)) this.#checkMemberMtu(bond, member, place);
      else if (!unread) this.#report(place, `no interface is called ${member}${suggestion(member, names)}`);
    });
  }

  /** A member without its own MTU gets the MTU of the bond. */
  #checkMemberMtu(bond: Bond, member: string, place: string): void {
    const own = this.#node.draft.interfaces?.find((nic) => nic?.name === member)?.mtu;
    const size = this.#mtuOf(bond);
    if (own && size && own < size)
      this.#report(place, `${member} has mtu ${own}, less than mtu ${size} of ${bond.name}`);
  }

  /** Except for booting, the address belongs to the bond. */
  checkMembers(): void {
    this.#node.draft.interfaces?.forEach((nic, index) => {
      const bond = nic?.name === undefined ? undefined : this.#bondOf.get(nic.name);
      if (bond === undefined || !nic?.address || !nic.network) return;
      const network = this.#references.find('networks', nic.network)?.draft;
      if (network?.server === undefined || network.purpose === undefined) return;
      const { server, purpose } = network;
      if (purposeOf({ server, purpose }) === 'provisioning') return;
      const message = `${nic.name} is a member of ${bond}, and machines do not boot from ${nic.network}: give the address to ${bond}`;
      this.#report(`interfaces[${index}].address`, message);
    });
  }

  checkVlan(vlan: Vlan, field: string): void {
    this.#checkAddress(vlan, field);
    this.#checkId(vlan, field);
    if (vlan.parent === undefined) return;
    const parent = this.#linkNamed(vlan.parent);
    const bond = this.#bondOf.get(vlan.parent);
    if (bond !== undefined)
      this.#report(`${field}.parent`, `${vlan.parent} is a member of ${bond}; use ${bond} as parent`);
    if (parent === null) {
      const names = this.#names();
      if (names) this.#report(`${field}.parent`, `no link is called ${vlan.parent}${suggestion(vlan.parent, names)}`);
    } else if (this.#isCyclic(vlan))
      this.#report(`${field}.parent`, `${vlan.name} is its own parent, directly or through other VLANs`);
    else this.#checkParentMtu(vlan, parent, field);
  }

  #checkId(vlan: Vlan, field: string): void {
    if (vlan.id === undefined || vlan.parent === undefined) return;
    const key = `${vlan.parent} ${vlan.id}`;
    const first = this.#vlanIds.get(key);
    if (first === undefined) this.#vlanIds.set(key, vlan.name ?? field);
    else this.#report(`${field}.id`, `${first} is already VLAN ${vlan.id} of ${vlan.parent}`);
    const network = vlan.network ? this.#references.find('networks', vlan.network) : undefined;
    const tag = network?.draft.vlan;
    if (network && typeof tag === 'number' && tag !== vlan.id) {
      this.#report(`${field}.id`, `${vlan.id}, but network ${vlan.network} is VLAN ${tag}`, network);
    }
  }

  #checkParentMtu(
    vlan: Vlan,
    parent: { mtu?: number | null | undefined; network?: string | null | undefined },
    field: string,
  ) {
    const size = this.#mtuOf(vlan);
    const parentMtu = this.#mtuOf(parent);
    if (!size || parentMtu === undefined || size <= (parentMtu ?? DEFAULT_MTU)) return;
    this.#report(`${field}.mtu`, `${size} is larger than mtu ${parentMtu ?? DEFAULT_MTU} of its parent ${vlan.parent}`);
  }

  #checkAddress(link: Bond | Vlan, field: string): void {
    if (link.address && link.network === null)
      this.#report(`${field}.network`, 'is missing: an address requires a network');
  }

  /** The MTU of the link or of its network; null: not declared, undefined: unknown. */
  #mtuOf(link: { mtu?: number | null | undefined; network?: string | null | undefined }): number | null | undefined {
    if (link.mtu !== null) return link.mtu;
    if (link.network === undefined) return undefined;
    const network = link.network === null ? null : this.#references.find('networks', link.network);
    return network === undefined ? undefined : (network?.draft.mtu ?? null);
  }

  #linkNamed(name: string) {
    const { interfaces, bonds, vlans } = this.#node.draft;
    const named = (link: { readonly name: string | undefined } | undefined) => link?.name === name;
    return interfaces?.find(named) ?? bonds?.find(named) ?? vlans?.find(named) ?? null;
  }

  /** Undefined when a link could not be read: it may have the name in question. */
  #names(): string[] | undefined {
    const { interfaces, bonds, vlans } = this.#node.draft;
    const names = [interfaces, bonds, vlans].flatMap((list) => list?.map((link) => link?.name) ?? [undefined]);
    return names.includes(undefined) ? undefined : names.flatMap((name) => name ?? []);
  }

  #isCyclic(vlan: Vlan): boolean {
    const parents = new Map(this.#node.draft.vlans?.map((one) => [one?.name, one?.parent]));
    const seen = new Set<string | undefined>();
    let at = vlan.parent;
    while (at !== undefined && at !== vlan.name && !seen.has(at)) {
      seen.add(at);
      at = parents.get(at);
    }
    return at !== undefined && at === vlan.name;
  }

  #report(field: string, message: string, other?: { readonly at: Entry<unknown>['at'] }): void {
    this.#findings.report(this.#node.at, field, message, other?.at);
  }
}
