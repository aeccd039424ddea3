// Other DHCP servers on networks that this appliance serves: a machine may take their offer.

import type { FoundProblem } from '../domain/appliance-problem.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { Mac } from '../domain/mac.ts';
import { checkCommand } from './next-steps.ts';

export interface OtherDhcpServer {
  readonly network: string;
  readonly interface: string;
  readonly address: Ipv4;
  /** Null: it is not in the neighbour table. */
  readonly mac: Mac | null;
  /** `it sent an OFFER`. */
  readonly how: string;
}

export const otherDhcpProblems = (servers: readonly OtherDhcpServer[], state: string): FoundProblem[] =>
  servers.map(({ network, interface: device, address, mac, how }) => ({
    id: 'other-dhcp-server',
    subject: `${network} ${address}`,
    words:
      `another DHCP server, ${address}${mac === null ? '' : ` (MAC ${mac})`}, assigns addresses on ${network} via ${device} (${how}): ` +
      'machines may take its offer; switch it off there, or set dhcp to proxy on this network',
    nextStep: checkCommand(state),
    ...{ network, address, mac },
  }));
