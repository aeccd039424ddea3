// Behind a relay every packet comes from the same peer, and every answer goes there: what was worked out for the last is
// kept for the next.

import { type Endpoint, endpointOf, peerAt } from './endpoint.ts';
import type { UdpPeer } from './udp-socket.ts';

export class LastPeer {
  #heard: { readonly endpoint: Endpoint; readonly peer: UdpPeer } | null = null;
  #told: { readonly endpoint: Endpoint; readonly peer: UdpPeer } | null = null;

  at(endpoint: Endpoint): UdpPeer {
    if (this.#heard?.endpoint !== endpoint) this.#heard = { endpoint, peer: peerAt(endpoint) };
    return this.#heard.peer;
  }

  endpointOf(peer: UdpPeer): Endpoint {
    if (this.#told?.peer.address !== peer.address || this.#told.peer.port !== peer.port) {
      this.#told = { endpoint: endpointOf(peer), peer };
    }
    return this.#told.endpoint;
  }
}
