// Cases of machines that do not start, or get no address.

import type { ApplianceProblem } from '../../../appliance/domain/appliance-problem.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import { type Observed, T0 } from '../observed.ts';
import { BEGUN, type Case, DISCOVER, ELSEWHERE, IPXE, OFFER, opened, REQUEST, UNTIL_KERNEL } from './boots.ts';

const OFFER_WITHOUT_FILE: Observed = [5, 'dhcp.offer', { address: '10.0.100.50', file: 'absent' }];
const own = { subject: 'x', since: T0, nextStep: 'Free space, then run: coldiron check' };
const NO_DHCP: ApplianceProblem = {
  ...own,
  id: 'listener-missing',
  words: 'DHCP does not listen on eth1',
  service: 'dhcp',
  networks: ['boot'],
  reason: 'no such interface',
};
const OTHER_SERVER: ApplianceProblem = {
  ...{ ...own, id: 'other-dhcp-server', words: '10.77.66.1 answers DHCP requests' },
  ...{ network: 'boot', address: '10.77.66.1' as Ipv4, mac: '52:54:00:aa:bb:cc' as Mac },
};
const STRANGER = {
  name: 'unknown-525400770099',
  state: 'discovered',
  shares: [],
  firstSeen: T0 + 30 * SECOND,
  network: 'boot',
};

export const START_CASES: readonly Case[] = [
  ['no-discover', [BEGUN]],
  ['start-by-hand', [BEGUN, [1, 'bmc.absent', { to_do: 'power cycle the machine by hand' }]]],
  ['power-failed', [BEGUN, [9, 'effect.failed', { effect: 'boot-from-network', reason: 'the BMC does not answer' }]]],
  [
    'power-not-switched',
    [BEGUN],
    {
      minutes: 1,
      facts: { bmc: { power: 'unknown', problem: null, switching: { to: 'on', since: T0 + 2 * SECOND }, log: [] } },
    },
  ],
  ['no-answer-by-policy', [BEGUN, DISCOVER, [5, 'dhcp.silent', { words: 'nobody has accepted this machine' }]]],
  [
    'pool-exhausted',
    [BEGUN, IPXE, [20, 'dhcp.silent', { because: 'pool-exhausted', network: 'boot', words: 'every address is taken' }]],
  ],
  [
    'pool-exhausted',
    [BEGUN, IPXE, [20, 'dhcp.silent', { because: 'pool-exhausted', network: 'boot', words: 'every address is taken' }]],
    { facts: { bmc: { power: 'off', problem: null, log: [] } } },
  ],
  ['no-request', [BEGUN, DISCOVER, OFFER]],
  ['no-request', [BEGUN, IPXE, [10, 'dhcp.offer', { address: '10.0.100.50' }]]],
  ['address-refused', [BEGUN, DISCOVER, OFFER, REQUEST, [7, 'dhcp.nak', { because: 'wrong network' }]]],
  ['wrong-network', [BEGUN, ELSEWHERE], { minutes: 0.1 }],
  ['wrong-network', [ELSEWHERE], { state: 'registered' }],
  ['address-in-use', [BEGUN, DISCOVER, OFFER, REQUEST, [7, 'dhcp.decline']]],
  ['no-boot-file', [BEGUN, DISCOVER, OFFER_WITHOUT_FILE], { minutes: 0.2 }],
  [
    'other-dhcp-server',
    [BEGUN, DISCOVER, OFFER, [6, 'dhcp.silent', { because: 'other-server-chosen' }]],
    { facts: { appliance: [OTHER_SERVER] } },
  ],
  ['other-dhcp-server', [BEGUN, DISCOVER, OFFER], { facts: { appliance: [OTHER_SERVER] } }],
  [
    'powered-off',
    UNTIL_KERNEL,
    {
      session: opened,
      facts: {
        bmc: {
          power: 'off',
          problem: null,
          log: [{ at: T0 + 80 * SECOND, severity: 'critical', message: 'Power supply AC lost' }],
        },
      },
    },
  ],
  [
    'bmc-unreachable',
    [BEGUN],
    { minutes: 0.5, facts: { bmc: { power: 'unknown', problem: 'no answer from the BMC', log: [] } } },
  ],
  ['boot-override-ignored', [BEGUN, [30, 'bmc.boot-ignored', { words: 'the firmware ignored it' }]], { minutes: 2 }],
  ['listener-missing', [BEGUN], { minutes: 1, facts: { appliance: [NO_DHCP] } }],
  [
    'card-replaced',
    [BEGUN],
    { minutes: 1, facts: { neighbours: [{ ...STRANGER, shares: ['serial number CLD0002'] }] } },
  ],
  ['stranger-appeared', [BEGUN], { minutes: 9, facts: { neighbours: [STRANGER] } }],
  [
    'switch-port-shared',
    [BEGUN],
    {
      minutes: 9,
      facts: { portClaims: [{ name: 'node07', port: 'sw3 Ethernet1/5', own: 'declared', other: 'heard' }] },
    },
  ],
  [
    'boot-device-not-kept',
    [
      BEGUN,
      [3, 'bmc.boot-refused', { words: 'the BMC accepted network', read_back: { device: 'disk', differences: [] } }],
      [4, 'effect.failed', { effect: 'boot-from-network', reason: 'the machine does not boot from network' }],
    ],
    { minutes: 1 },
  ],
  [
    'siblings-stopped',
    [BEGUN],
    { minutes: 9, facts: { siblings: { stage: 'power', stalled: ['node02', 'node03'], passed: [] } } },
  ],
];
