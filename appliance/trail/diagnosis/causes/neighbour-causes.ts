// Causes that show in the neighbourhood: a machine that appears under another name, and machines that stop in the same stage.

import { type Cause, fact, found, isIn, stoppedIn } from '../cause.ts';
import type { PortClaim } from '../facts.ts';

const CLAIMS: Readonly<Record<PortClaim['own'], string>> = { declared: 'declared', heard: 'heard by LLDP' };

export const NEIGHBOUR_CAUSES: readonly Cause[] = [
  {
    id: 'card-replaced',
    stages: ['power'],
    specificity: 3,
    looksFor: 'an undeclared machine with the chassis UUID or serial number of this one',
    assess: (signs) => {
      const same = signs.neighbours.filter(({ shares }) => shares.length > 0);
      const [first] = same;
      if (first === undefined || !isIn(signs, 'power')) return null;
      return found(
        'certain',
        same.map(({ name, shares, firstSeen }) => fact('network', `${name} has ${shares.join(' and ')}`, firstSeen)),
        { other: first.name, shares: first.shares.join(' and ') },
      );
    },
    reason:
      '{node} boots as {other}, which has the same {shares}: its network card was replaced, or boots from another card',
    nextStep:
      'Compare the MAC addresses (coldiron nodes show {other}); declare the new MAC address for {node} in the inventory, then run: coldiron nodes rebind {node}',
    verify: 'coldiron trail {node} shows a DHCP request.',
  },
  {
    id: 'stranger-appeared',
    stages: ['power'],
    specificity: 2,
    looksFor: 'exactly one new machine on its network since it was started, while it was not heard of',
    assess: (signs) => {
      const strangers = signs.neighbours.filter(
        ({ shares, firstSeen }) => shares.length === 0 && firstSeen >= signs.since,
      );
      const [only] = strangers;
      if (only === undefined || strangers.length > 1 || !isIn(signs, 'power') || !signs.current?.overdue) return null;
      return found(
        'likely',
        [fact('network', `${only.name} appeared on network ${only.network ?? 'unknown'}`, only.firstSeen)],
        {
          other: only.name,
        },
      );
    },
    reason:
      '{node} was started and not heard of, but the unknown machine {other} appeared: the declared MAC address may be wrong',
    nextStep:
      'Compare serial number and MAC address (coldiron nodes show {other}) with the machine, and correct the MAC address of {node} in the inventory.',
    verify: 'coldiron trail {node} shows a DHCP request.',
  },
  {
    id: 'switch-port-shared',
    stages: ['power', 'address'],
    specificity: 2,
    looksFor: 'another machine that declares, or heard by LLDP, the same switch port',
    assess: (signs) => {
      const claims = signs.portClaims ?? [];
      const [first] = claims;
      if (first === undefined || !stoppedIn(signs, 'power', 'address')) return null;
      return found(
        'likely',
        claims.map(({ name, port, own, other }) =>
          fact('network', `switch port ${port}: ${CLAIMS[own]} for ${signs.hostname}, ${CLAIMS[other]} for ${name}`),
        ),
        { other: first.name, port: first.port },
      );
    },
    reason:
      '{node} and {other} claim the same switch port, {port}: a cable is in the wrong port, or the inventory is wrong',
    nextStep:
      'Compare the cables (coldiron cabling {node} {other}) with the switch, and correct the cable or `switch` in the inventory.',
    verify: 'coldiron trail {node} shows a DHCP request.',
  },
  {
    id: 'siblings-stopped',
    stages: ['power', 'address', 'loader', 'script', 'images', 'start', 'first-boot'],
    specificity: 1,
    looksFor: 'at least two other machines of its network that stopped in the same stage, and none that passed it',
    assess: ({ siblings, current }) =>
      siblings && current?.overdue && siblings.stalled.length >= 2 && siblings.passed.length === 0
        ? found(
            'possible',
            [
              fact(
                'network',
                `${siblings.stalled.length} other machines stopped in the same stage: ${siblings.stalled.slice(0, 5).join(', ')}`,
              ),
            ],
            { count: String(siblings.stalled.length) },
          )
        : null,
    reason:
      '{node} and {count} other machines stopped in the same stage: the cause is shared, such as a switch, a relay or a firewall',
    nextStep: 'Show what they have in common: coldiron diagnose',
  },
];
