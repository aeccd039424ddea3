// The boot decision, one case per row: the machine, what it gets, and the reason.

import type { BecauseId } from '../../appliance/boot/because.ts';
import type { BootQuestion, Outcome } from '../../appliance/boot/decide-boot.ts';
import { HOUR, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import {
  eraseIntentWith,
  factsOf,
  INTENT_ID,
  intentWith,
  machineIn,
  NOW,
  name,
  networkWith,
  OTHER_MAC,
  OTHER_NODE_ID,
  OTHER_UUID,
  profileWith,
} from './boot-fixtures.ts';

export interface BootCase {
  readonly sentence: string;
  readonly question: BootQuestion;
  readonly gets: Outcome['kind'] | Outcome;
  readonly because: BecauseId;
}

type Row = readonly [
  sentence: string,
  changes: Partial<BootQuestion>,
  gets: Outcome['kind'] | Outcome,
  because: BecauseId,
];

const BASE: BootQuestion = {
  facts: factsOf(7),
  machine: machineIn('registered'),
  network: networkWith(),
  profile: profileWith(),
  now: NOW,
};

const deploying = (intent: Parameters<typeof intentWith>[0]) => machineIn('deploying', { intent: intentWith(intent) });
const releasing = (intent: Parameters<typeof intentWith>[0]) =>
  machineIn('releasing', { intent: eraseIntentWith(intent) });
const installer: Outcome = { kind: 'installer', profile: name('worker'), intent: INTENT_ID };
const erasure: Outcome = { kind: 'service-os', mode: 'erase', intent: INTENT_ID };
const inspection: Outcome = { kind: 'service-os', mode: 'inspect' };
const commissioning: Outcome = { kind: 'service-os', mode: 'commission' };
const rescue: Outcome = { kind: 'service-os', mode: 'rescue' };

const NETWORKS: readonly Row[] = [
  ['a machine on an undeclared network', { network: null }, 'silent', 'network-unknown'],
  [
    'a machine on a network without our address',
    { network: networkWith({ server: null }) },
    'silent',
    'network-without-server',
  ],
];

const UNACCEPTED: readonly Row[] = (['is not registered', 'is only discovered'] as const).flatMap((who): Row[] => {
  const machine = who === 'is not registered' ? null : machineIn('discovered');
  const on = (unknown: 'ignore' | 'refuse' | 'hold' | 'local-disk' | 'inspect') => ({
    machine,
    network: networkWith({ unknown }),
  });
  return [
    [`a machine that ${who}, on a network that ignores such machines`, on('ignore'), 'silent', 'unaccepted-ignored'],
    [`a machine that ${who}, on a network that holds such machines`, on('hold'), 'hold', 'unaccepted-held'],
    [`a machine that ${who}, on a network that refuses such machines`, on('refuse'), 'refusal', 'unaccepted-refused'],
    [`a machine that ${who}, on a network for local disks`, on('local-disk'), 'local-disk', 'unaccepted-local-disk'],
    [
      `a machine that ${who}, on a network that inspects such machines`,
      on('inspect'),
      inspection,
      'unaccepted-inspected',
    ],
  ];
});

const STATES: readonly Row[] = [
  ['a registered machine', { machine: machineIn('registered') }, 'local-disk', 'registered'],
  ['a commissioning machine', { machine: machineIn('commissioning') }, commissioning, 'commissioning'],
  ['a ready machine', { machine: machineIn('ready') }, 'local-disk', 'ready'],
  ['a deploying machine with its intent', { machine: deploying({}) }, installer, 'deploy-armed'],
  ['an enrolling machine', { machine: machineIn('enrolling') }, 'local-disk', 'enrolling'],
  ['an active machine', { machine: machineIn('active') }, 'local-disk', 'active'],
  ['a draining machine', { machine: machineIn('draining') }, 'local-disk', 'draining'],
  ['a releasing machine with its intent', { machine: releasing({}) }, erasure, 'erase-armed'],
  ['a machine in rescue', { machine: machineIn('rescue') }, rescue, 'rescue'],
  ['a retired machine', { machine: machineIn('retired') }, 'local-disk', 'retired'],
  ['a failed machine', { machine: machineIn('failed') }, 'local-disk', 'failed'],
  ['a quarantined machine', { machine: machineIn('quarantined') }, 'refusal', 'quarantined'],
  ['a removed machine', { machine: machineIn('removed') }, 'refusal', 'removed'],
  [
    'a removed machine on a network that ignores unknown machines',
    { machine: machineIn('removed'), network: networkWith({ unknown: 'ignore' }) },
    'refusal',
    'removed',
  ],
];

const armed = [
  ['deploying', deploying, { kind: 'erase' }],
  ['releasing', releasing, { kind: 'deploy' }],
] as const;
const INTENTS: readonly Row[] = armed.flatMap(([state, withIntent, otherKind]): Row[] => [
  [`a ${state} machine without an intent`, { machine: machineIn(state) }, 'local-disk', 'intent-missing'],
  [
    `a ${state} machine with an intent of the other kind`,
    { machine: withIntent(otherKind) },
    'local-disk',
    'intent-of-other-kind',
  ],
  [
    `a ${state} machine whose intent was revoked`,
    { machine: withIntent({ revokedAt: NOW - SECOND }) },
    'local-disk',
    'intent-revoked',
  ],
  [
    `a ${state} machine whose intent was consumed`,
    { machine: withIntent({ consumedAt: NOW - SECOND }) },
    'local-disk',
    'intent-consumed',
  ],
  [
    `a ${state} machine whose intent expires at this moment`,
    { machine: withIntent({ expiresAt: NOW }) },
    'local-disk',
    'intent-expired',
  ],
  [
    `a ${state} machine whose intent is armed for later`,
    { machine: withIntent({ armedAt: NOW + MINUTE, expiresAt: NOW + HOUR }) },
    'local-disk',
    'intent-not-yet',
  ],
  [
    `a ${state} machine with the intent of another`,
    { machine: withIntent({ machine: OTHER_NODE_ID }) },
    'local-disk',
    'intent-for-other-machine',
  ],
  [
    `a ${state} machine armed for another MAC`,
    { machine: withIntent({ macs: [OTHER_MAC] }) },
    'local-disk',
    'intent-for-other-chassis',
  ],
  [
    `a ${state} machine armed for another UUID`,
    { machine: withIntent({ uuid: OTHER_UUID }) },
    'local-disk',
    'intent-for-other-chassis',
  ],
  [
    `a ${state} machine that sends no MAC`,
    { machine: withIntent({}), facts: factsOf(7, { mac: null }) },
    'local-disk',
    'intent-for-other-chassis',
  ],
  [
    `a ${state} machine that does not send the UUID it was armed with`,
    { machine: withIntent({}), facts: factsOf(7, { uuid: null }) },
    'local-disk',
    'chassis-untold',
  ],
  [
    `a ${state} machine armed before its UUID was known, which it does not send`,
    { machine: withIntent({ uuid: null }), facts: factsOf(7, { uuid: null }) },
    'local-disk',
    'chassis-untold',
  ],
]);

const withoutUuid = machineIn('deploying', { spec: { uuid: null }, intent: intentWith({ uuid: null }) });
const arm64 = { architecture: 'arm64' } as const;
const PROFILES_AND_ARCHITECTURES: readonly Row[] = [
  [
    'a deploying machine without a declared or armed chassis UUID',
    { machine: withoutUuid, facts: factsOf(7, { uuid: null }) },
    installer,
    'deploy-armed',
  ],
  [
    'a deploying machine whose profile is not in the catalogue any more',
    { machine: deploying({}), profile: null },
    'refusal',
    'profile-unknown',
  ],
  [
    'a deploying machine for which another profile was looked up',
    { machine: deploying({}), profile: profileWith({ name: name('other') }) },
    'refusal',
    'profile-unknown',
  ],
  [
    'a deploying machine armed without a profile',
    { machine: deploying({ profile: null }), profile: null },
    'refusal',
    'profile-unknown',
  ],
  [
    'a deploying machine whose profile is inactive',
    { machine: deploying({}), profile: profileWith({ active: false }) },
    'refusal',
    'profile-inactive',
  ],
  [
    'a deploying machine whose profile is for another architecture',
    { machine: deploying({}), profile: profileWith({ architectures: ['arm64'] }) },
    'refusal',
    'profile-architecture-mismatch',
  ],
  [
    'a deploying machine that reports another architecture',
    { machine: deploying({}), facts: factsOf(11) },
    'refusal',
    'architecture-mismatch',
  ],
  [
    'a releasing machine that reports another architecture',
    { machine: releasing({}), facts: factsOf(11) },
    'refusal',
    'architecture-mismatch',
  ],
  [
    'a commissioning machine that reports another architecture',
    { machine: machineIn('commissioning', { spec: arm64 }) },
    'refusal',
    'architecture-mismatch',
  ],
  [
    'a machine in rescue that reports another architecture',
    { machine: machineIn('rescue', { spec: arm64 }) },
    'refusal',
    'architecture-mismatch',
  ],
  [
    'an active machine that reports another architecture',
    { machine: machineIn('active', { spec: arm64 }) },
    'local-disk',
    'active',
  ],
  [
    'a commissioning machine that reports no architecture',
    { machine: machineIn('commissioning'), facts: factsOf(7, { cpu: null, architecture: null }) },
    commissioning,
    'commissioning',
  ],
];

export const BOOT_CASES: readonly BootCase[] = [
  ...NETWORKS,
  ...UNACCEPTED,
  ...STATES,
  ...INTENTS,
  ...PROFILES_AND_ARCHITECTURES,
].map(([sentence, changes, gets, because]) => ({ sentence, question: { ...BASE, ...changes }, gets, because }));
