// The URL of the node API for each node, the names in its certificate, and the identity of a node: all from the inventory.

import type { GeneralName } from '../codecs/x509/general-name.ts';
import { type Ipv4, parseIpv4 } from '../domain/ipv4.ts';
import { addressesOf, linksOf, type Machine } from '../domain/machine.ts';
import { purposeOf, type SiteNetwork } from '../domain/network.ts';
import { mustParse, type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { type DomainIndex, domainOf, fqdnOf } from '../render/plan-cluster.ts';
import type { NodeIdentity } from './node-identity.ts';

/** Where the node API listens. */
export interface NodeApiAddress {
  readonly address: string;
  readonly port: number;
}

type FleetNetworks = Pick<Fleet, 'site' | 'sites' | 'network' | 'networks' | 'cluster'>;

const ANY_ADDRESS = '0.0.0.0';

export function apiUrlFor(fleet: FleetNetworks, { spec }: Machine, listen: NodeApiAddress | null): Parsed<string> {
  if (listen === null)
    return unparsable('the node API is off: set listen.node in the site file, for example 0.0.0.0:8444');
  const declared = spec.site === null ? null : (fleet.site(spec.site)?.apiUrl ?? null);
  if (declared !== null) return parsed(declared);
  const address = listen.address === ANY_ADDRESS ? serverNear(fleet, { spec }) : listen.address;
  if (address !== null) return parsed(`https://${address}:${listen.port}`);
  return unparsable(
    `no node API address is known for ${spec.hostname}: set api_url on its site, or server on its network`,
  );
}

/** The server of one of the node's networks, else of its site, else of any network. */
function serverNear(fleet: FleetNetworks, { spec }: Pick<Machine, 'spec'>): Ipv4 | null {
  const own = linksOf(spec).flatMap(({ network }) => (network && fleet.network(network)) ?? []);
  const all = [...fleet.networks()];
  const near = [...own, ...all.filter(({ site }) => site === spec.site), ...all];
  return near.find(({ server }) => server !== null)?.server ?? null;
}

const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));

/** Every name that a node may use for the node API: the certificate contains all of them. */
export function apiNames(fleet: FleetNetworks, { address }: NodeApiAddress): GeneralName[] {
  const own = address === ANY_ADDRESS ? LOOPBACK : address;
  const declared = [...fleet.sites()].flatMap(({ apiUrl }) => (apiUrl === null ? [] : [new URL(apiUrl).hostname]));
  const servers = [...fleet.networks()].flatMap(({ server }) => server ?? []);
  return [...new Set([own, ...servers, ...declared, 'localhost'])].map(nameOf);
}

function nameOf(text: string): GeneralName {
  const address = parseIpv4(text);
  return address.ok ? { kind: 'ip', address: address.value } : { kind: 'dns', name: text };
}

export function identityIn(fleet: FleetNetworks, { id, spec }: Machine): NodeIdentity {
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

const domains = (fleet: FleetNetworks): DomainIndex => ({
  sites: { get: (name) => fleet.site(name) ?? undefined },
  clusters: { get: (name) => fleet.cluster(name) ?? undefined },
  networks: { get: (name) => fleet.network(name) ?? undefined },
});
