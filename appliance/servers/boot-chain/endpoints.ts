// The addresses at which machines reach a server, from the address that it listens on.

import { parseIpv4 } from '../../domain/ipv4.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { BootEndpoint } from './expected-fetches.ts';

export interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

interface EndpointContext {
  readonly fleet: Pick<Fleet, 'networks' | 'networkOf'>;
  /** Addresses of this machine's interfaces. */
  readonly ownAddresses: ReadonlySet<string>;
}

/** For a server on all addresses: the server addresses of the networks that belong to this machine. */
export function endpointsAt({ address, port }: ListenAddress, context: EndpointContext): readonly BootEndpoint[] {
  const named = address === '0.0.0.0' ? namedAddresses(context) : [address];
  return (named.length === 0 ? ['127.0.0.1'] : named).map((at) => ({
    address: at,
    port,
    server: serverAt(context.fleet, at),
  }));
}

/** The same, plus other addresses that the networks advertise: a server that listens elsewhere is not reachable there. */
export function advertisedEndpoints(place: ListenAddress, context: EndpointContext): readonly BootEndpoint[] {
  const endpoints = endpointsAt(place, context);
  const elsewhere = namedAddresses(context).filter((named) => endpoints.every(({ address }) => address !== named));
  return [...endpoints, ...elsewhere.flatMap((address) => endpointsAt({ ...place, address }, context))];
}

function namedAddresses({ fleet, ownAddresses }: EndpointContext): string[] {
  const served = [...fleet.networks()].flatMap(({ server, dhcp }) => (server === null || dhcp === 'off' ? [] : server));
  return [...new Set(served)].filter((address) => ownAddresses.has(address));
}

/** Texts requested from this address are rendered for its network. */
function serverAt(fleet: EndpointContext['fleet'], address: string): string | null {
  const parsed = parseIpv4(address);
  return (parsed.ok ? fleet.networkOf(parsed.value)?.server : null) ?? null;
}
