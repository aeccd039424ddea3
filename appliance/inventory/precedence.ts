// Precedence of files over the API. Pure.
//
// A node that was added through the API and is not in use gives way to a file: a file that declares its MAC address under another
// name takes the node over, and a UUID, an address or a BMC that a file declares for another node is taken from it. A node in use
// keeps everything, and the file is refused with the name of the node and the way out.

import type { Ipv4 } from '../domain/ipv4.ts';
import { isInUse } from '../domain/lifecycle.ts';
import type { Machine, MachineSpec } from '../domain/machine.ts';
import { forEachLink, type NodeDraft } from './drafts.ts';
import { API, NETWORK } from './ownership.ts';

/** What the given nodes declare and only one node may have, with the host name of the node that declares it. */
export class Claims {
  readonly #owners = new Map<string, string>();

  constructor(nodes: Iterable<NodeDraft>) {
    for (const node of nodes) {
      const claim = (key: string) => this.#owners.set(key, node.hostname ?? '');
      if (node.uuid) claim(node.uuid);
      forEachLink(node, (link) => {
        if ('mac' in link && link.mac) claim(link.mac);
        if (link.address) claim(at(node, link.address));
      });
      if (node.bmc?.address) claim(at(node, node.bmc.address));
    }
  }

  ownerOf = (key: string | null): string | undefined => (key === null ? undefined : this.#owners.get(key));
}

/** An address belongs to one node within a site. */
const at = ({ site }: Pick<NodeDraft, 'site'>, address: Ipv4): string => `${site ?? ''}/${address}`;

/** Whether machines give way to these sources. */
export function yieldsTo(sources: readonly { readonly name: string }[]): (machine: Machine) => boolean {
  const byFiles = sources.every(({ name }) => name !== API && name !== NETWORK);
  return ({ source, lifecycle }) => byFiles && source === API && !isInUse(lifecycle.state);
}

/** The node without what others claim, and a line for each value that it loses. */
export function yielded(
  spec: MachineSpec,
  claims: Claims,
): { readonly spec: MachineSpec; readonly lost: readonly string[] } {
  const lost: string[] = [];
  const isLost = (key: string | null, text: string): boolean => {
    const owner = claims.ownerOf(key);
    if (owner !== undefined) lost.push(`${text} is now declared for ${owner}`);
    return owner !== undefined;
  };
  const address = (value: Ipv4 | null): Ipv4 | null =>
    value !== null && isLost(at(spec, value), value) ? null : value;
  const uuid = isLost(spec.uuid, `uuid ${spec.uuid}`) ? null : spec.uuid;
  const interfaces = spec.interfaces.map((nic) => ({
    ...nic,
    mac: isLost(nic.mac, `MAC address ${nic.mac}`) ? null : nic.mac,
    address: address(nic.address),
  }));
  const bonds = spec.bonds.map((bond) => ({ ...bond, address: address(bond.address) }));
  const vlans = spec.vlans.map((vlan) => ({ ...vlan, address: address(vlan.address) }));
  const bmc = spec.bmc && address(spec.bmc.address) === null ? null : spec.bmc;
  return { spec: lost.length === 0 ? spec : { ...spec, uuid, interfaces, bonds, vlans, bmc }, lost };
}

/** What to do about a node from the API that does not give way; null: it is from a file. */
export const adviceAbout = ({ source, spec: { hostname }, lifecycle }: Machine): string | null =>
  source === API
    ? `that node was added through the API and is ${lifecycle.state}: declare this node as ${hostname}, or take ${hostname} out ` +
      `of use (coldiron retire ${hostname})`
    : null;
