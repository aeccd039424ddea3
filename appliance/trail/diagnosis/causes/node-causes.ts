// Causes on the installed system: it does not start, does not enroll, or stopped sending heartbeats.

import type { EventData, EventKind } from '../../../domain/events/event-table.ts';
import { HANDSHAKE_FAILURES } from '../../../domain/events/node-api-events.ts';
import type { Seen } from '../boot-events.ts';
import {
  type Cause,
  type Evidence,
  enrolling,
  type Finding,
  fact,
  found,
  lastEvent,
  later,
  seen,
  stoppedIn,
} from '../cause.ts';
import type { Signs } from '../signs.ts';
import { REFUSED } from './agent-causes.ts';

/** Refusals that agent-causes.ts explains. */
const HAS_OWN_CAUSE: ReadonlySet<string> = new Set(Object.values(REFUSED).flat());

export const NODE_CAUSES: readonly Cause[] = [
  {
    id: 'node-clock-wrong',
    stages: 'any',
    specificity: 3,
    looksFor: 'TLS handshakes with the node API that the node ends because our certificate is not valid by its clock',
    assess: (signs) => handshakes(signs, ['client-bad-certificate', 'client-certificate-expired']),
    reason: '{node} reaches the node API but rejects its certificate, as it does when its clock is wrong: {words}',
    nextStep:
      'Set the clock of the machine in its firmware setup, and check that it reaches a time server (`ntp` of its site). It then goes on by itself.',
    verify: 'coldiron nodes show {node} shows its health as online.',
  },
  {
    id: 'authority-unknown',
    owner: 'appliance',
    stages: 'any',
    specificity: 3,
    looksFor: 'TLS handshakes that the node ends because it does not know our authority',
    assess: (signs) => handshakes(signs, ['client-unknown-authority']),
    reason:
      '{node} reaches the node API but does not know its authority: its files are of another appliance, or of a retired authority',
    nextStep:
      'Give the node the current authorities: coldiron agent recover {node}, and run the command on the node. Or install it again.',
    verify: 'coldiron nodes show {node} shows its health as online.',
  },
  {
    id: 'node-handshake-failed',
    owner: 'network',
    stages: 'any',
    specificity: 2,
    looksFor: 'TLS handshakes with the node API that fail for another reason',
    assess: (signs) =>
      handshakes(signs, [
        'client-other-alert',
        'protocol-version',
        'no-common-cipher',
        'not-tls',
        'silent',
        'broken-off',
        'other',
      ]),
    reason: '{node} connects to the node API, but the TLS handshake fails: {words}',
    nextStep:
      'Look for a proxy, a firewall or a small MTU between the node and {where}. On the node: journalctl -u coldiron-node-agent',
    verify: 'coldiron nodes show {node} shows its health as online.',
  },
  {
    id: 'enrollment-refused',
    owner: 'operator',
    stages: 'any',
    specificity: 3,
    looksFor: 'requests of the node that the node API refused',
    assess: (signs) => {
      const refused = sinceExpected(signs, 'node-api.refused');
      return refused && awaitsNode(signs) && !HAS_OWN_CAUSE.has(refused.data.code)
        ? found('certain', seen(refused, `${refused.data.path} was refused: ${refused.data.words}`, 'node'), {
            words: refused.data.words,
          })
        : null;
    },
    reason: '{node} tries to enroll and is refused: {words}',
    nextStep:
      'Issue a new token: coldiron agent recover {node} if its agent is installed, else coldiron token reissue {node}. If the machine was replaced, install it again.',
    verify: 'coldiron nodes show {node} shows the state active.',
  },
  {
    id: 'node-silent',
    stages: 'any',
    specificity: 1,
    looksFor: 'the health `silent`',
    assess: ({ health, healthSilent, bmc }) =>
      health === 'silent'
        ? found('likely', [
            ...(healthSilent === null
              ? [fact('node', 'its health is silent')]
              : seen(healthSilent, 'its heartbeats stopped', 'node')),
            ...(bmc?.power === 'on' ? [fact('bmc', 'its BMC reports that the power is on')] : []),
          ])
        : null,
    reason: '{node} stopped sending heartbeats: it is off, it lost its network connection, or its agent stopped',
    nextStep:
      'Check its power (coldiron power {node} status), its screen (coldiron console {node} --last) and the last lines of its agent (coldiron agent logs {node}). On the node: journalctl -u coldiron-node-agent. Without its env file, its certificate or its key: coldiron agent recover {node}',
    verify: 'coldiron nodes show {node} shows its health as online.',
  },
  {
    id: 'enrolled-never',
    stages: ['first-boot'],
    specificity: 2,
    looksFor: 'an installed system that requested an address and did not enroll in time',
    assess: (signs) =>
      enrolling(signs) && later(signs.osDiscover, signs.installed) && stoppedIn(signs, 'first-boot')
        ? found('likely', [...seen(signs.osDiscover, 'the installed system requested an address'), ...contact(signs)], {
            where: signs.endpoints.node ?? 'the node API',
          })
        : null,
    reason: '{node} was installed and starts, but it has not enrolled',
    nextStep:
      'Check that it reaches TCP {where}: firewall and routes; and its agent: journalctl -u coldiron-node-agent. To issue a new token: coldiron token reissue {node}',
    verify: 'coldiron nodes show {node} shows the state active.',
  },
  {
    id: 'boots-network-again',
    stages: ['first-boot'],
    specificity: 2,
    looksFor: 'a boot script that was requested after the installation',
    assess: (signs) =>
      enrolling(signs) && later(signs.script, signs.installed) && stoppedIn(signs, 'first-boot')
        ? found('likely', seen(signs.script, 'it requested its boot script after it was installed'))
        : null,
    reason: '{node} was installed, but still boots from the network first and is sent to its disk',
    nextStep:
      "Put the disk before the network in its boot order (coldiron bootdev {node} disk --persistent), or check that its firmware kept the disk's boot entry.",
    verify: 'coldiron nodes show {node} shows the state active.',
  },
  {
    id: 'no-first-boot',
    stages: ['first-boot'],
    specificity: 1,
    looksFor: 'nothing heard of the installed system in time',
    assess: (signs) =>
      enrolling(signs) && signs.installed && stoppedIn(signs, 'first-boot')
        ? found('possible', [...seen(signs.installed, 'it was installed', 'appliance'), ...contact(signs)], {
            where: signs.endpoints.node ?? 'the node API',
          })
        : null,
    reason:
      '{node} was installed, but its system has not enrolled: it does not start from its disk, or cannot reach {where}',
    nextStep:
      'Look at its screen (coldiron console {node} --last): does it boot from its disk? If it shows a login prompt, check that it reaches TCP {where}.',
    verify: 'coldiron nodes show {node} shows the state active.',
  },
  {
    id: 'bundle-not-used',
    stages: ['first-boot'],
    specificity: 2,
    looksFor: 'a bundle that was issued for a hand-installed system and not used',
    assess: (signs) =>
      enrolling(signs) && !signs.installed
        ? found(
            'likely',
            signs.enrolling === null
              ? [fact('appliance', 'its state waits for enrollment')]
              : seen(signs.enrolling, 'its enrollment started', 'operator'),
          )
        : null,
    reason: '{node} has not enrolled: its bootstrap bundle was issued but not used',
    nextStep:
      'Run the bootstrap bundle on {node}, and check that it reaches the node API. To issue a new bundle: coldiron token reissue {node}',
    verify: 'coldiron nodes show {node} shows the state active.',
  },
];

/** The node should report: it is to enroll, or it fell silent. */
const awaitsNode = (signs: Signs): boolean => enrolling(signs) || signs.health === 'silent';

/** An event that came after the system should have reported. */
function sinceExpected<Kind extends EventKind>(signs: Signs, kind: Kind): Seen<Kind> | null {
  const one = lastEvent(signs, kind);
  return later(one, signs.installed ?? signs.enrolling) || signs.health === 'silent' ? one : null;
}

function handshakes(
  signs: Signs,
  reasons: readonly EventData<'node-api.handshake-failed'>['reason'][],
): Finding | null {
  const failure = sinceExpected(signs, 'node-api.handshake-failed');
  if (failure === null || !awaitsNode(signs) || !reasons.includes(failure.data.reason)) return null;
  const words = HANDSHAKE_FAILURES[failure.data.reason];
  return found(
    'certain',
    seen(
      failure,
      `${words} (${failure.data.detail}, ${failure.data.count} times from ${failure.data.address})`,
      'node',
    ),
    {
      words,
      where: signs.endpoints.node ?? 'the node API',
    },
  );
}

/** Whether anything of the node arrived at the node API. */
function contact(signs: Signs): Evidence[] {
  const one = sinceExpected(signs, 'node-api.connected');
  return one === null
    ? [fact('node', 'no connection of it has arrived at the node API')]
    : [...seen(one, 'it connected to the node API', 'node')];
}
