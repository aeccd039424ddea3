// Networks: each sound in itself, and none on top of another.

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
  checkServedTogether(drafts.networks, findings);
  if (!drafts.incomplete.has('networks')) checkRelayed(drafts.networks, findings);
}

/** Why no machine can have this address on this network; null when one can. */
export function notAHostOf(prefix: Prefix, address: Ipv4): string | null {
  if (!contains(prefix, address)) return `${address} is outside ${prefixText(prefix)}`;
  if (isHostAddress(prefix, address)) return null;
  return `${address} is the ${address === prefix.network ? 'network' : 'broadcast'} address of ${prefixText(prefix)}`;
}

function checkOwnAddresses({ at, draft }: Entry<NetworkDraft>, findings: Findings): void {
  const { prefix, gateway, server } = draft;
  if (!prefix) return;
  const gatewayProblem = gateway && notAHostOf(prefix, gateway);
  if (gatewayProblem) findings.report(at, 'gateway', gatewayProblem);
  // Behind a relay the appliance is on another network; inside this one it is a host like any other.
  const serverProblem = server && contains(prefix, server) && notAHostOf(prefix, server);
  if (serverProblem) findings.report(at, 'server', serverProblem);
}

/** Why a pool cannot be used; null when it can, undefined when too little of it is known. */
export function poolProblem(prefix: Prefix | undefined, pool: Draft<Ipv4Range> | undefined): string | null | undefined {
  if (!prefix || !pool?.from || !pool.to) return undefined;
  const problem = notAHostOf(prefix, pool.from) ?? notAHostOf(prefix, pool.to);
  if (problem || ipv4ToNumber(pool.from) <= ipv4ToNumber(pool.to)) return problem;
  return `ends before it starts: ${pool.from} to ${pool.to}`;
}

function checkPools({ at, draft }: Entry<NetworkDraft>, findings: Findings): void {
  const sound: { index: number; from: number; to: number }[] = [];
  draft.pools?.forEach((pool, index) => {
    const problem = poolProblem(draft.prefix, pool);
    if (problem) findings.report(at, `pools[${index}]`, problem);
    if (problem !== null || !pool?.from || !pool.to) return;
    sound.push({ index, from: ipv4ToNumber(pool.from), to: ipv4ToNumber(pool.to) });
  });
  sound.sort((a, b) => a.from - b.from);
  let widest: (typeof sound)[number] | undefined;
  for (const pool of sound) {
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
    findings.report(at, 'interface', `is missing: dhcp: ${draft.dhcp} listens on one`);
  }
  if (draft.server === null) {
    findings.report(at, 'server', `is missing: dhcp: ${draft.dhcp} tells machines where to boot from`);
  }
}

/** Its machines reach the appliance at an address on another network: a relay passes their requests on. */
const isRelayed = ({ prefix, server }: NetworkDraft): boolean =>
  server === undefined || (server !== null && prefix !== undefined && !contains(prefix, server));

/** A relay sends to an interface that some network has to name. */
function checkRelayed(networks: readonly Entry<NetworkDraft>[], findings: Findings): void {
  const served = networks.filter(({ draft }) => draft.dhcp !== undefined && draft.dhcp !== 'off');
  if (served.some(({ draft }) => draft.interface !== null)) return;
  for (const { at, draft } of served) {
    if (!isRelayed(draft) || draft.server === undefined) continue;
    const message = `is missing: no network with dhcp names one; name the interface that relayed requests for ${draft.server} come in on`;
    findings.report(at, 'interface', message);
  }
}

/**
 * What one appliance gives addresses on. It knows machines by their addresses, so that these must be different at all its sites;
 * and of two networks on the same wire it could not tell which one a machine without an address belongs to.
 */
function checkServedTogether(networks: readonly Entry<NetworkDraft>[], findings: Findings): void {
  const served = networks.filter(({ draft }) => draft.dhcp !== undefined && draft.dhcp !== 'off');
  // Those of one site are compared already.
  checkOverlaps(served, findings, () => 'all', false);
  const onWire = new Map<string, Entry<NetworkDraft>>();
  for (const entry of served) {
    const { prefix, server, interface: device } = entry.draft;
    if (!device || !prefix || !server || !contains(prefix, server)) continue;
    const first = onWire.get(device);
    if (!first) onWire.set(device, entry);
    else {
      const message = `${device} has a network on its wire already (${placeText(first.at, 'interface')}); give this one a VLAN of its own, or a relay`;
      findings.report(entry.at, 'interface', message, first.at);
    }
  }
}

/** Prefixes are disjoint or nested, so in order of their first address a clash is with the widest one so far. */
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
      const [said, other] = earlier.order < network.order ? [network, earlier] : [earlier, network];
      const message = `${prefixText(said.prefix)} overlaps ${prefixText(other.prefix)} of ${placeText(other.entry.at, 'prefix')}`;
      findings.report(said.entry.at, 'prefix', message, other.entry.at);
    }
    if (!earlier || network.last > earlier.last) widest.set(group, network);
  }
}
