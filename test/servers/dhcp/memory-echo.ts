// Echo sockets in memory: the test chooses which addresses answer.

import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { OpenEcho } from '../../../appliance/net/udp/echo-socket.ts';

export class MemoryEcho {
  /** Addresses that answer. */
  readonly alive = new Set<Ipv4>();
  /** `interface address`, in the order of the requests. */
  readonly requests: string[] = [];
  sockets = 0;
  refusal: Error | null = null;
  /** The number of requests that are lost. */
  losses = 0;

  readonly open: OpenEcho = (device) => {
    if (this.refusal !== null) throw this.refusal;
    this.sockets += 1;
    let answers: Ipv4[] = [];
    return {
      ask: (address) => {
        this.requests.push(`${device} ${address}`);
        if (this.losses > 0) this.losses -= 1;
        else if (this.alive.has(address)) answers.push(address);
      },
      answered: () => {
        const found = answers;
        answers = [];
        return found;
      },
      close: () => {
        this.sockets -= 1;
      },
    };
  };
}
