// The links of a node among each other: who carries whom, over which network, and with frames of which size.

import { suggestion } from '../documents/nearest-name.ts';
import type { MachineBond, MachineVlan } from '../domain/machine.ts';
import { purposeOf } from '../domain/network.ts';
import type { Draft, Drafts, Entry, Findings, NodeDraft } from './drafts.ts';
import type { References } from './references.ts';

/** What a link carries that nobody said anything about. */
const USUAL_MTU = 1500;

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
      if (other !== undefined) this.#report(place, `${member} is a member of ${other} already`);
      else this.#bondOf.set(member, bond.name ?? field);
      if (names.includes(member)) this.#checkMemberSize(bond, member, place);
      else if (!unread) this.#report(place, `no interface is called ${member}${suggestion(member, names)}`);
    });
  }

  /** A member of which nobody said more takes the size of the bond. */
  #checkMemberSize(bond: Bond, member: string, place: string): void {
    const own = this.#node.draft.interfaces?.find((nic) => nic?.name === member)?.mtu;
    const size = this.#sizeOf(bond);
    if (own && size && own < size)
      this.#report(place, `${member} has mtu ${own}, less than the ${size} of ${bond.name}`);
  }

  /** Outside of booting, the bond has the address. */
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
    const parent = this.#carrier(vlan.parent);
    const bond = this.#bondOf.get(vlan.parent);
    if (bond !== undefined) this.#report(`${field}.parent`, `${vlan.parent} is a member of ${bond}; name that`);
    if (parent === null) {
      const names = this.#names();
      if (names) this.#report(`${field}.parent`, `no link is called ${vlan.parent}${suggestion(vlan.parent, names)}`);
    } else if (this.#leadsBack(vlan)) this.#report(`${field}.parent`, `${vlan.name} would carry itself`);
    else this.#checkCarriedSize(vlan, parent, field);
  }

  #checkId(vlan: Vlan, field: string): void {
    if (vlan.id === undefined || vlan.parent === undefined) return;
    const key = `${vlan.parent} ${vlan.id}`;
    const first = this.#vlanIds.get(key);
    if (first === undefined) this.#vlanIds.set(key, vlan.name ?? field);
    else this.#report(`${field}.id`, `${first} is VLAN ${vlan.id} of ${vlan.parent} already`);
    const network = vlan.network ? this.#references.find('networks', vlan.network) : undefined;
    const tag = network?.draft.vlan;
    if (network && typeof tag === 'number' && tag !== vlan.id) {
      this.#report(`${field}.id`, `${vlan.id}, but network ${vlan.network} is VLAN ${tag}`, network);
    }
  }

  #checkCarriedSize(
    vlan: Vlan,
    parent: { mtu?: number | null | undefined; network?: string | null | undefined },
    field: string,
  ) {
    const size = this.#sizeOf(vlan);
    const room = this.#sizeOf(parent);
    if (!size || room === undefined || size <= (room ?? USUAL_MTU)) return;
    this.#report(`${field}.mtu`, `${size} is more than the ${room ?? USUAL_MTU} of ${vlan.parent}, which carries it`);
  }

  #checkAddress(link: Bond | Vlan, field: string): void {
    if (link.address && link.network === null) this.#report(`${field}.network`, 'is missing: the address lies on one');
  }

  /** Its own, or its network's; null when nobody said, undefined when it cannot be known. */
  #sizeOf(link: { mtu?: number | null | undefined; network?: string | null | undefined }): number | null | undefined {
    if (link.mtu !== null) return link.mtu;
    if (link.network === undefined) return undefined;
    const network = link.network === null ? null : this.#references.find('networks', link.network);
    return network === undefined ? undefined : (network?.draft.mtu ?? null);
  }

  #carrier(name: string) {
    const { interfaces, bonds, vlans } = this.#node.draft;
    const named = (link: { readonly name: string | undefined } | undefined) => link?.name === name;
    return interfaces?.find(named) ?? bonds?.find(named) ?? vlans?.find(named) ?? null;
  }

  /** Undefined when one of them could not be read: it may be the one that was meant. */
  #names(): string[] | undefined {
    const { interfaces, bonds, vlans } = this.#node.draft;
    const names = [interfaces, bonds, vlans].flatMap((list) => list?.map((link) => link?.name) ?? [undefined]);
    return names.includes(undefined) ? undefined : names.flatMap((name) => name ?? []);
  }

  #leadsBack(vlan: Vlan): boolean {
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
