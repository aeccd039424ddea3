// Echo sockets in memory: the test says who answers.

import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { OpenEcho } from '../../../appliance/net/udp/echo-socket.ts';

export class MemoryEcho {
  /** Those who answer when they are asked. */
  readonly alive = new Set<Ipv4>();
  /** `interface address`, in the order of the questions. */
  readonly asked: string[] = [];
  sockets = 0;
  refusal: Error | null = null;
  /** So many questions do not arrive. */
  losses = 0;

  readonly open: OpenEcho = (device) => {
    if (this.refusal !== null) throw this.refusal;
    this.sockets += 1;
    let answers: Ipv4[] = [];
    return {
      ask: (address) => {
        this.asked.push(`${device} ${address}`);
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
