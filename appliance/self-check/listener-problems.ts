// DHCP and TFTP listeners that should be open and are not.

import type { FoundProblem } from '../domain/appliance-problem.ts';
import type { Listener } from '../domain/listener.ts';

/** What shows the usual cause: an interface that is missing or down, a port that another program has. */
const NEXT_STEP = { dhcp: 'ip -brief address', tftp: 'ss -ulnp' } as const;

export const listenerProblems = (listeners: readonly Listener[]): FoundProblem[] =>
  listeners.flatMap(({ service, where, networks, problem }) => {
    if (problem === null) return [];
    const of = networks.length === 0 ? '' : ` (${networks.join(', ')})`;
    return [
      {
        id: 'listener-missing',
        subject: `${service} on ${where}`,
        words: `${service.toUpperCase()} does not answer on ${where}${of}: ${problem}`,
        nextStep: NEXT_STEP[service],
        ...{ service, networks, reason: problem },
      },
    ];
  });
