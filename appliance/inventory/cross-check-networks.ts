// Checks networks: each is valid in itself, and no two overlap.

import {
  contains,
  type Ipv4,
  type Ipv4Range,
  ipv4ToNumber,
  isHostAddress,
  type Prefix,
  prefixText,
} from '../domain/ipv4.ts';
import { type Draft, type Drafts, type Entry, type Findings, type NetworkDraft, placeText } from './drafts.ts';
import type { References } from './references.ts';

export function checkNetworks(drafts: Drafts, references: References, findings: Findings): void {
  for (const entry of drafts.networks) {
    references.follow('sites', entry.draft.site, entry.at, 'site');
    checkOwnAddresses(entry, findings);
    checkPools(entry, findings);
    checkDhcp(entry, findings);
  }
  checkOverlaps(drafts.networks, findings, ({ site }) => site);
  checkDhcpNetworks(drafts.networks, findings);
  if (!drafts.incomplete.has('networks')) checkRelayed(drafts.networks, findings);
}

/** Why no machine can have this address on this network; null: one can. */
export function hostAddressProblem(prefix: Prefix, address: Ipv4): string | null {
  if (!contains(prefix, address)) return `${address} is outside ${prefixText(prefix)}`;
  if (isHostAddress(prefix, address)) return null;
  return `${address} is the ${address === prefix.network ? 'network' : 'broadcast'} address of ${prefixText(prefix)}`;
}

function checkOwnAddresses({ at, draft }: Entry<NetworkDraft>, findings: Findings): void {
  const { prefix, gateway, server } = draft;
  if (!prefix) return;
  const gatewayProblem = gateway && hostAddressProblem(prefix, gateway);
  if (gatewayProblem) findings.report(at, 'gateway', gatewayProblem);
  // Behind a relay the server address is on another network; inside this network it must be a host address.
  const serverProblem = server && contains(prefix, server) && hostAddressProblem(prefix, server);
  if (serverProblem) findings.report(at, 'server', serverProblem);
}

/** Why a pool is invalid; null: it is valid; undefined: not enough of it could be read. */
export function poolProblem(prefix: Prefix | undefined, pool: Draft<Ipv4Range> | undefined): string | null | undefined {
  if (!prefix || !pool?.from || !pool.to) return undefined;
  const problem = hostAddressProblem(prefix, pool.from) ?? hostAddressProblem(prefix, pool.to);
  if (problem || ipv4ToNumber(pool.from) <= ipv4ToNumber(pool.to)) return problem;
  return `ends before it starts: ${pool.from} to ${pool.to}`;
}

function checkPools({ at, draft }: Entry<NetworkDraft>, findings: Findings): void {
  const valid: { index: number; from: number; to: number }[] = [];
  draft.pools?.forEach((pool, index) => {
    const problem = poolProblem(draft.prefix, pool);
    if (problem) findings.report(at, `pools[${index}]`, problem);
    if (problem !== null || !pool?.from || !pool.to) return;
    valid.push({ index, from: ipv4ToNumber(pool.from), to: ipv4ToNumber(pool.to) });
  });
  valid.sort((a, b) => a.from - b.from);
  let widest: (typeof valid)[number] | undefined;
  for (const pool of valid) {
    if (widest && pool.from <= widest.to) {
      const [first, second] = widest.index < pool.index ? [widest, pool] : [pool, widest];
      findings.report(at, `pools[${second.index}]`, `overlaps pools[${first.index}]`);
    }
    if (!widest || pool.to > widest.to) widest = pool;
  }
}

function checkDhcp({ at, draft }: Entry<NetworkDraft>, findings: Findings): void {
  if (!draft.dhcp || draft.dhcp === 'off') return;
  if (draft.interface === null && !isRelayed(draft)) {
    findings.report(at, 'interface', `is missing: dhcp: ${draft.dhcp} requires an interface`);
  }
  if (draft.server === null) {
    findings.report(at, 'server', `is missing: dhcp: ${draft.dhcp} requires a server address`);
  }
}

/** The server address is on another network: a relay forwards the requests. */
const isRelayed = ({ prefix, server }: NetworkDraft): boolean =>
  server === undefined || (server !== null && prefix !== undefined && !contains(prefix, server));

/** Some network must declare the interface that the relay sends to. */
function checkRelayed(networks: readonly Entry<NetworkDraft>[], findings: Findings): void {
  const served = networks.filter(({ draft }) => draft.dhcp !== undefined && draft.dhcp !== 'off');
  if (served.some(({ draft }) => draft.interface !== null)) return;
  for (const { at, draft } of served) {
    if (!isRelayed(draft) || draft.server === undefined) continue;
    const message = `is missing: no network with dhcp has one; declare the interface that receives relayed requests for ${draft.server}`;
    findings.report(at, 'interface', message);
  }
}

/**
 * Checks the networks with DHCP against each other. The appliance identifies machines by address, so addresses must be unique
 * across its sites; and with two networks on one interface it could not tell which one a new client belongs to.
 */
function checkDhcpNetworks(networks: readonly Entry<NetworkDraft>[], findings: Findings): void {
  const served = networks.filter(({ draft }) => draft.dhcp !== undefined && draft.dhcp !== 'off');
  // Networks of the same site were compared before.
  checkOverlaps(served, findings, () => 'all', false);
  const localNetworks = new Map<string, Entry<NetworkDraft>>();
  for (const entry of served) {
    const { prefix, server, interface: device } = entry.draft;
    if (!device || !prefix || !server || !contains(prefix, server)) continue;
    const first = localNetworks.get(device);
    if (!first) localNetworks.set(device, entry);
    else {
      const message = `${device} already serves another local network (${placeText(first.at, 'interface')}); use a VLAN interface or a relay for this one`;
      findings.report(entry.at, 'interface', message, first.at);
    }
  }
}

/** Prefixes are disjoint or nested, so in order of their first address an overlap is with the widest one so far. */
function checkOverlaps(
  networks: readonly Entry<NetworkDraft>[],
  findings: Findings,
  groupOf: (network: { readonly site: string }) => string,
  ofOneSite = true,
): void {
  const ordered = networks
    .flatMap((entry, order) => {
      const { prefix, site } = entry.draft;
      if (!prefix || site === undefined) return [];
      const first = ipv4ToNumber(prefix.network);
      return [{ entry, order, site, prefix, first, last: first + 2 ** (32 - prefix.length) - 1 }];
    })
    .sort((a, b) => a.first - b.first || b.last - a.last || a.order - b.order);
  const widest = new Map<string, (typeof ordered)[number]>();
  for (const network of ordered) {
    const group = groupOf(network);
    const earlier = widest.get(group);
    if (earlier && network.first <= earlier.last && (ofOneSite || network.site !== earlier.site)) {
      const [reported, other] = earlier.order < network.order ? [network, earlier] : [earlier, network];
      const message = `${prefixText(reported.prefix)} overlaps ${prefixText(other.prefix)} of ${placeText(other.entry.at, 'prefix')}`;
      findings.report(reported.entry.at, 'prefix', message, other.entry.at);
    }
    if (!earlier || network.last > earlier.last) widest.set(group, network);
  }
}
