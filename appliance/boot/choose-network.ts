// Which network a request belongs to. Relay information takes precedence over the receiving interface: link selection
// (RFC 3527 §3), subnet selection (RFC 3011 §4), giaddr (RFC 2131 §4.3.1), and ciaddr for a renewal, which bypasses the relay.

import { contains, type Ipv4 } from '../domain/ipv4.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { LeaseReason } from './leases/lease-because.ts';
import type { LeaseRequest } from './leases/lease-request.ts';

export interface Ingress {
  readonly interface: string;
  /** The network directly on this interface; null when only relays reach us here. */
  readonly direct: SiteNetwork | null;
  readonly networkOf: (address: Ipv4) => SiteNetwork | null;
}

export type NetworkChoice =
  | { readonly network: SiteNetwork; readonly because: null }
  | { readonly network: null; readonly because: LeaseReason };

export function chooseNetwork(request: LeaseRequest, ingress: Ingress): NetworkChoice {
  const named = request.relayAgent?.linkSelection ?? request.subnetSelection ?? request.relay;
  if (named !== null) return servedHere(ingress.networkOf(named), ingress);
  if (request.clientAddress !== null) {
    const renewed = servedHere(ingress.networkOf(request.clientAddress), ingress);
    if (renewed.network !== null) return renewed;
  }
  return servedHere(ingress.direct, ingress);
}

/** A reply leaves by the interface that received the request, so a network of another interface is not served. */
function servedHere(network: SiteNetwork | null, ingress: Ingress): NetworkChoice {
  if (network === null) return { network: null, because: 'no-network' };
  if (!isServedOn(network, ingress.interface)) return { network: null, because: 'other-interface' };
  return { network, because: null };
}

/** A network behind a relay may omit its interface: it is served wherever its relay sends requests. */
const isServedOn = (network: SiteNetwork, device: string): boolean =>
  network.interface === null ? network.dhcp !== 'off' && !isDirect(network) : network.interface === device;

/** Behind a relay the appliance's own address is outside the network. */
export const isDirect = (network: SiteNetwork): boolean =>
  network.server !== null && contains(network.prefix, network.server);
