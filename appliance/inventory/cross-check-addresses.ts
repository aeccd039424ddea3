// Checks for address conflicts: within a site an address has one owner, and no fixed address is in a pool.

import { broadcastAddress, type Ipv4, ipv4ToNumber, type Prefix } from '../domain/ipv4.ts';
import { hostAddressProblem, poolProblem } from './cross-check-networks.ts';
import { type Drafts, type Findings, forEachLink, type NodeDraft, type Place, placeText } from './drafts.ts';

interface Claim {
  readonly site: string;
  readonly address: Ipv4;
  readonly at: Place;
  readonly field: string;
  readonly what: 'gateway' | 'server' | 'virtual address' | 'interface' | 'bond' | 'VLAN' | 'RoCE link' | 'BMC';
}

export function checkAddresses(drafts: Drafts, findings: Findings): void {
  const pools = poolsBySite(drafts);
  const taken = new Map<string, Map<number, Claim>>();
  for (const claim of [...infrastructureClaims(drafts), ...nodeClaims(drafts, findings), ...roceClaims(drafts)]) {
    const { site, address, at, field } = claim;
    const number = ipv4ToNumber(address);
    const pool = pools.get(site)?.find(({ from, to }) => number >= from && number <= to);
    if (pool) findings.report(at, field, `${address} is in the pool ${placeText(pool.at, pool.field)}`, pool.at);
    const ofSite = taken.get(site) ?? new Map<number, Claim>();
    if (ofSite.size === 0) taken.set(site, ofSite);
    const first = ofSite.get(number);
    if (!first) ofSite.set(number, claim);
    else if (!mayShare(first, claim)) {
      const message = `${address} is taken: it is the ${first.what} of ${placeText(first.at, first.field)}`;
      findings.report(at, field, message, first.at);
    }
  }
}

/** The appliance of a small site may also be its gateway, and one appliance may serve several networks from one address. */
const mayShare = (a: Claim, b: Claim): boolean =>
  (a.what === 'gateway' || a.what === 'server') && (b.what === 'gateway' || b.what === 'server');

function poolsBySite(drafts: Drafts) {
  const pools = new Map<string, { at: Place; field: string; from: number; to: number }[]>();
  for (const { at, draft } of drafts.networks) {
    if (draft.site === undefined) continue;
    const ofSite = pools.get(draft.site) ?? [];
    pools.set(draft.site, ofSite);
    draft.pools?.forEach((pool, index) => {
      if (!pool?.from || !pool.to || poolProblem(draft.prefix, pool)) return;
      ofSite.push({ at, field: `pools[${index}]`, from: ipv4ToNumber(pool.from), to: ipv4ToNumber(pool.to) });
    });
  }
  return pools;
}

function infrastructureClaims(drafts: Drafts): Claim[] {
  const claims: Claim[] = [];
  for (const { at, draft } of drafts.networks) {
    const { site = '', gateway, server } = draft;
    if (gateway) claims.push({ site, address: gateway, at, field: 'gateway', what: 'gateway' });
    if (server) claims.push({ site, address: server, at, field: 'server', what: 'server' });
  }
  for (const { at, draft } of drafts.clusters) {
    const { site = '', vip } = draft;
    if (vip) claims.push({ site, address: vip, at, field: 'vip', what: 'virtual address' });
  }
  return claims;
}

/** The valid addresses of nodes; invalid ones are reported here, once. */
function nodeClaims(drafts: Drafts, findings: Findings): Claim[] {
  const claims: Claim[] = [];
  const networks = new Map(drafts.networks.map((entry) => [entry.draft.name, entry]));
  const edges = nonHostAddresses(drafts);
  for (const { at, draft } of drafts.nodes) {
    forEachLink(draft, ({ network: name, address }, link) => {
      if (!address || isBootAddress(draft, link, address)) return;
      const network = name ? networks.get(name) : undefined;
      const field = `${link}.address`;
      const problem = network?.draft.prefix && hostAddressProblem(network.draft.prefix, address);
      if (problem) findings.report(at, field, `${problem} (${name})`, network.at);
      else {
        const site = (network ? network.draft.site : draft.site) ?? '';
        claims.push({ site, address, at, field, what: linkType(link) });
      }
    });
    const address = draft.bmc?.address;
    if (!address) continue;
    const site = draft.site ?? '';
    const edge = edges.get(`${site}/${address}`);
    const problem = edge && hostAddressProblem(edge, address);
    if (problem) findings.report(at, 'bmc.address', problem);
    else claims.push({ site, address, at, field: 'bmc.address', what: 'BMC' });
  }
  return claims;
}

/** A bond may have the same address as the member that boots. */
const isBootAddress = ({ interfaces, bonds }: NodeDraft, field: string, address: Ipv4): boolean => {
  if (!field.startsWith('bonds')) return false;
  const bond = bonds?.find((_, index) => field === `bonds[${index}]`);
  const members = interfaces?.filter((nic) => nic?.name !== undefined && bond?.members?.includes(nic.name));
  return members?.some((nic) => nic?.address === address && nic.network === bond?.network) ?? false;
};

function linkType(field: string): Claim['what'] {
  if (field.startsWith('bonds')) return 'bond';
  return field.startsWith('vlans') ? 'VLAN' : 'interface';
}

function roceClaims({ roce }: Drafts): Claim[] {
  return roce.flatMap(({ at, draft: { site = '', links } }) =>
    (links ?? []).flatMap((link, index): Claim[] =>
      link?.address ? [{ site, address: link.address, at, field: `links[${index}].address`, what: 'RoCE link' }] : [],
    ),
  );
}

/** A BMC has no network field; if its address is in a declared network, it must be a host address there. */
function nonHostAddresses(drafts: Drafts): Map<string, Prefix> {
  const edges = new Map<string, Prefix>();
  for (const { draft } of drafts.networks) {
    const { site = '', prefix } = draft;
    if (!prefix || prefix.length >= 31) continue;
    edges.set(`${site}/${prefix.network}`, prefix).set(`${site}/${broadcastAddress(prefix)}`, prefix);
  }
  return edges;
}
