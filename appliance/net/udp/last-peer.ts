// Behind a relay every packet comes from the same peer, and every reply goes there: the last conversion is cached in each
// direction.

import { type Endpoint, endpointOf, peerAt } from './endpoint.ts';
import type { UdpPeer } from './udp-socket.ts';

export class LastPeer {
  #source: { readonly endpoint: Endpoint; readonly peer: UdpPeer } | null = null;
  #destination: { readonly endpoint: Endpoint; readonly peer: UdpPeer } | null = null;

  at(endpoint: Endpoint): UdpPeer {
    if (this.#source?.endpoint !== endpoint) this.#source = { endpoint, peer: peerAt(endpoint) };
    return this.#source.peer;
  }

  endpointOf(peer: UdpPeer): Endpoint {
    if (this.#destination?.peer.address !== peer.address || this.#destination.peer.port !== peer.port) {
      this.#destination = { endpoint: endpointOf(peer), peer };
    }
    return this.#destination.endpoint;
  }
}
