// Causes on the installed system: it does not start, does not enroll, or stopped sending heartbeats.

import { type Cause, enrolling, fact, found, later, seen, stoppedIn } from '../cause.ts';

export const NODE_CAUSES: readonly Cause[] = [
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
      'Check its power (coldiron power {node} status) and its screen (coldiron console {node} --last). On the node: journalctl -u coldiron-node-agent',
    verify: 'coldiron nodes show {node} shows its health as online.',
  },
  {
    id: 'enrolled-never',
    stages: ['first-boot'],
    specificity: 2,
    looksFor: 'an installed system that requested an address and did not enroll in time',
    assess: (signs) =>
      enrolling(signs) && later(signs.osDiscover, signs.installed) && stoppedIn(signs, 'first-boot')
        ? found('likely', seen(signs.osDiscover, 'the installed system requested an address'))
        : null,
    reason: '{node} was installed and starts, but it has not enrolled',
    nextStep:
      'Check its agent (journalctl -u coldiron-node-agent) and that it reaches the node API. To issue a new token: coldiron token reissue {node}',
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
        ? found('possible', seen(signs.installed, 'it was installed', 'appliance'))
        : null,
    reason: '{node} was installed, but nothing was heard of its system since',
    nextStep: 'Look at its screen (coldiron console {node} --last) and check that it boots from its disk.',
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
