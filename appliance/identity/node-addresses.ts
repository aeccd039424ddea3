// Where nodes reach the node API, under which names it must answer, and what a node is called: all of it from the inventory.

import type { GeneralName } from '../codecs/x509/general-name.ts';
import { type Ipv4, parseIpv4 } from '../domain/ipv4.ts';
import { addressesOf, linksOf, type Machine } from '../domain/machine.ts';
import { purposeOf, type SiteNetwork } from '../domain/network.ts';
import { mustParse, type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { type DomainIndex, domainOf, fqdnOf } from '../render/plan-cluster.ts';
import type { NodeIdentity } from './node-identity.ts';

/** Where the node API listens. */
export interface NodeApiPlace {
  readonly address: string;
  readonly port: number;
}

type Places = Pick<Fleet, 'site' | 'sites' | 'network' | 'networks' | 'cluster'>;

const EVERYWHERE = '0.0.0.0';

export function apiUrlFor(fleet: Places, { spec }: Machine, place: NodeApiPlace | null): Parsed<string> {
  if (place === null) return unparsable('the node API is off: name listen.node in the site file, like 0.0.0.0:8444');
  const declared = spec.site === null ? null : (fleet.site(spec.site)?.apiUrl ?? null);
  if (declared !== null) return parsed(declared);
  const address = place.address === EVERYWHERE ? serverNear(fleet, { spec }) : place.address;
  if (address !== null) return parsed(`https://${address}:${place.port}`);
  return unparsable(
    `nobody says where ${spec.hostname} reaches the node API: give its site an api_url, or its network a server`,
  );
}

/** On a network of its own, else on one of its site, else on any. */
function serverNear(fleet: Places, { spec }: Pick<Machine, 'spec'>): Ipv4 | null {
  const own = linksOf(spec).flatMap(({ network }) => (network && fleet.network(network)) ?? []);
  const all = [...fleet.networks()];
  const near = [...own, ...all.filter(({ site }) => site === spec.site), ...all];
  return near.find(({ server }) => server !== null)?.server ?? null;
}

const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));

/** Every name that a node may call it by: its certificate holds them all. */
export function apiNames(fleet: Places, { address }: NodeApiPlace): GeneralName[] {
  const own = address === EVERYWHERE ? LOOPBACK : address;
  const declared = [...fleet.sites()].flatMap(({ apiUrl }) => (apiUrl === null ? [] : [new URL(apiUrl).hostname]));
  const servers = [...fleet.networks()].flatMap(({ server }) => server ?? []);
  return [...new Set([own, ...servers, ...declared, 'localhost'])].map(nameOf);
}

function nameOf(text: string): GeneralName {
  const address = parseIpv4(text);
  return address.ok ? { kind: 'ip', address: address.value } : { kind: 'dns', name: text };
}

export function identityIn(fleet: Places, { id, spec }: Machine): NodeIdentity {
  const links = linksOf(spec);
  const networks = links.flatMap(({ network }) => (network && fleet.network(network)) ?? []);
  const production = networks.find((network) => purposeOf(network) === 'production');
  const domain = domainOf(domains(fleet), spec, production ?? networks[0] ?? null);
  return {
    id,
    hostname: spec.hostname,
    fqdn: fqdnOf(spec.hostname, domain),
    addresses: [...new Set([...addressesOn(links, production), ...addressesOf(spec)])],
  };
}

const addressesOn = (links: ReturnType<typeof linksOf>, network: SiteNetwork | undefined): Ipv4[] =>
  links.flatMap((link) => (network !== undefined && link.network === network.name ? (link.address ?? []) : []));

const domains = (fleet: Places): DomainIndex => ({
  sites: { get: (name) => fleet.site(name) ?? undefined },
  clusters: { get: (name) => fleet.cluster(name) ?? undefined },
  networks: { get: (name) => fleet.network(name) ?? undefined },
});
