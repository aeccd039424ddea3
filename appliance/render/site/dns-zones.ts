// Zone files (RFC 1035 §5). A zone starts at the shortest domain in use: prov.example.com is part of example.com. Reverse zones
// are cut at octets, where no delegation by a parent is needed: a network between two octets is split into the smaller zones,
// and one of fewer than 256 addresses shares the zone of its /24 (RFC 2317 would need CNAMEs in the parent zone).

import { contains, type Ipv4 } from '../../domain/ipv4.ts';
import { purposeOf, type Site, type SiteNetwork } from '../../domain/network.ts';
import type { PlanIndex } from '../plan-index.ts';
import { WORK_FIRST } from '../plan-links.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { type SiteName, siteNames } from './site-names.ts';

interface Zone {
  readonly origin: string;
  readonly records: readonly { readonly name: string; readonly value: string }[];
}

interface NameServer {
  readonly label: string;
  readonly fqdn: string;
  readonly address: Ipv4;
}

/** `isInside` distinguishes the site's own name servers from external ones. */
export function renderZones(
  index: PlanIndex,
  site: Site,
  isInside: (address: Ipv4) => boolean,
  templates: Templates,
): RenderedFile[] {
  const names = siteNames(index);
  const here = names.filter((name) => name.site === site.name);
  const networks = [...index.networks.values()].filter((network) => network.site === site.name);
  const apexes = apexDomains(names);
  const own = [...new Set(here.flatMap(({ fqdn }) => apexOf(apexes, fqdn) ?? []))].sort();
  const [home] = own;
  const forward = own.map((apex) => forwardZone(apex, names, apexes));
  const servers = home === undefined ? [] : nameServers(home, forward[0], networks, isInside);
  const head = {
    // RFC 1982: a serial number has 32 bits; some servers treat 0 as unset.
    serial: Math.max(1, index.declaredRevision % 2 ** 32),
    primary: servers[0]?.fqdn ?? NOBODY,
    contact: `hostmaster.${home ?? 'invalid'}.`,
    nameservers: servers.length > 0 ? servers.map(({ fqdn }) => fqdn) : [NOBODY],
  };
  return [
    ...forward.map((zone) => file('forward', zone, { ...head, glue: zone.origin === home ? servers : [] }, templates)),
    ...reverseZones(here, networks).map((zone) => file('reverse', zone, head, templates)),
  ];
}

/** If the inventory names no name server, the server that loads the zone is the name server. */
const NOBODY = 'localhost.';

function file(
  kind: 'forward' | 'reverse',
  { origin, records }: Zone,
  head: object,
  templates: Templates,
): RenderedFile {
  const text = templates.render(`site/${kind}.zone`, { ...head, origin: `${origin}.`, records });
  return { path: `dns/${origin}.zone`, text, mode: 0o644, secret: false };
}

/** The name servers of the networks, those of production networks first, as ns1, ns2 … */
function nameServers(
  home: string,
  zone: Zone | undefined,
  networks: readonly SiteNetwork[],
  isInside: (address: Ipv4) => boolean,
): NameServer[] {
  const ordered = WORK_FIRST.flatMap((purpose) => networks.filter((network) => purposeOf(network) === purpose));
  const addresses = new Set(ordered.flatMap(({ dns }) => dns.filter(isInside)));
  const taken = new Set(zone?.records.map(({ name }) => name));
  let number = 0;
  return [...addresses].map((address) => {
    do number += 1;
    while (taken.has(`ns${number}`));
    return { label: `ns${number}`, fqdn: `ns${number}.${home}.`, address };
  });
}

/** Domains that are not below another one. */
function apexDomains(names: readonly SiteName[]): readonly string[] {
  const domains = new Set(names.flatMap(({ domain }) => domain ?? []));
  const isBelow = (domain: string) => [...domains].some((other) => domain.endsWith(`.${other}`));
  return [...domains].filter((domain) => !isBelow(domain));
}

const apexOf = (apexes: readonly string[], fqdn: string | null): string | undefined =>
  apexes.find((apex) => fqdn?.endsWith(`.${apex}`));

function forwardZone(apex: string, names: readonly SiteName[], apexes: readonly string[]): Zone {
  const records = names.flatMap(({ fqdn, address }) =>
    fqdn !== null && apexOf(apexes, fqdn) === apex
      ? [{ name: fqdn.slice(0, -apex.length - 1), value: address as string }]
      : [],
  );
  return { origin: apex, records };
}

function reverseZones(names: readonly SiteName[], networks: readonly SiteNetwork[]): Zone[] {
  const zones = new Map<string, Map<Ipv4, string>>();
  for (const { address, fqdn, reverse } of names) {
    if (fqdn === null || !reverse) continue;
    const origin = reverseOrigin(address, networks);
    const zone = zones.get(origin) ?? new Map<Ipv4, string>();
    zones.set(origin, zone);
    if (!zone.has(address)) zone.set(address, `${fqdn}.`);
  }
  return [...zones]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([origin, records]) => ({
      origin,
      records: [...records].map(([address, value]) => ({ name: pointer(address).slice(0, -origin.length - 1), value })),
    }));
}

/** 10.0.200.10 in 10.0.200.0/24: 200.0.10.in-addr.arpa. */
function reverseOrigin(address: Ipv4, networks: readonly SiteNetwork[]): string {
  const length = networks.find(({ prefix }) => contains(prefix, address))?.prefix.length ?? 24;
  const octets = Math.min(3, Math.max(1, Math.ceil(length / 8)));
  return `${address.split('.').slice(0, octets).reverse().join('.')}.in-addr.arpa`;
}

const pointer = (address: Ipv4): string => `${address.split('.').reverse().join('.')}.in-addr.arpa`;
