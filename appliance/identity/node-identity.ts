// The names of a node in its certificates. All come from the inventory, none from the node.

import type { GeneralName } from '../codecs/x509/general-name.ts';
import { type Ipv4, parseIpv4 } from '../domain/ipv4.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Hostname } from '../domain/names.ts';
import { mustParse } from '../domain/parsed.ts';

export interface NodeIdentity {
  readonly id: MachineId;
  readonly hostname: Hostname;
  /** The host name if there is no domain. */
  readonly fqdn: string;
  /** The addresses of its services; the production network comes first. */
  readonly addresses: readonly Ipv4[];
}

/** RFC 9562 §4: the id as a URN for a certificate. */
export const nodeUri = (id: MachineId): string => `urn:uuid:${id}`;

export const identityNames = ({ id, hostname, fqdn }: NodeIdentity): GeneralName[] => [
  { kind: 'uri', uri: nodeUri(id) },
  ...dnsNames([fqdn, hostname]),
];

const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));

/** Services are reached by name, by address, and locally. */
export const serviceNames = ({ hostname, fqdn, addresses }: NodeIdentity): GeneralName[] => [
  ...dnsNames([fqdn, hostname, 'localhost']),
  ...[...new Set([...addresses, LOOPBACK])].map((address) => ({ kind: 'ip', address }) as const),
];

/** RFC 5280 appendix A.1: a common name has at most 64 characters, a domain name up to 253. */
export const serviceCommonName = ({ hostname, fqdn }: NodeIdentity): string => (fqdn.length <= 64 ? fqdn : hostname);

const dnsNames = (names: readonly string[]): GeneralName[] =>
  [...new Set(names)].map((name) => ({ kind: 'dns', name }) as const);
