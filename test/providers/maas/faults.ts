// Faults of MAAS, of what is in front of it, and of its machines: each with how a run must end.

import type { FailureClass, OnboardingStep } from '../../../appliance/domain/onboarding.ts';
import { ANSWERS } from './double/maas-double.ts';
import { S } from './double/machine.ts';
import type { Life } from './life.ts';

export interface Fault extends Life {
  readonly name: string;
  readonly ends:
    | { readonly state: 'completed'; readonly attempt?: number }
    | {
        readonly state: 'failed';
        readonly class: FailureClass;
        readonly step: OnboardingStep;
        readonly reason: RegExp;
        readonly candidates?: number;
      };
  /** How often operations took effect in MAAS; default: each of create, commission and deploy once. */
  readonly effects?: Readonly<Record<string, number>>;
  /** A text that an event of the run must contain. */
  readonly said?: RegExp;
}

const COMPLETED = { state: 'completed' } as const;
const failed = (about: FailureClass, step: OnboardingStep, reason: RegExp) =>
  ({ state: 'failed', class: about, step, reason }) as const;

const CREATE = /^POST machines\/$/;
const COMMISSION = /op=commission$/;
const ALLOCATE = /op=allocate$/;
const ANNOTATE = /op=set_workload_annotations$/;
const DEPLOY = /op=deploy$/;
const LINK = /op=link_subnet$/;
const MACHINE = /^GET machines\/sys\d+\/$/;

const ipmi = (address: string) => ({
  type: 'ipmi',
  parameters: { power_address: address, power_pass: 'x' },
  state: 'off' as const,
});
const READY = { commissioned: true, status: S.READY, power: ipmi('10.0.200.31') };

export const FAULTS: readonly Fault[] = [
  { name: 'no fault', ends: COMPLETED },
  // Lost answers: the request was done, and nobody said so.
  { name: 'the answer to create is lost', faults: [{ on: CREATE, when: 'after', answer: 'cut' }], ends: COMPLETED },
  {
    name: 'the answer to commission is lost',
    faults: [{ on: COMMISSION, when: 'after', answer: 'cut' }],
    ends: COMPLETED,
  },
  { name: 'the answer to allocate is lost', faults: [{ on: ALLOCATE, when: 'after', answer: 'cut' }], ends: COMPLETED },
  { name: 'the answer to the mark is lost', faults: [{ on: ANNOTATE, when: 'after', answer: 'cut' }], ends: COMPLETED },
  { name: 'the answer to deploy is lost', faults: [{ on: DEPLOY, when: 'after', answer: 'cut' }], ends: COMPLETED },
  { name: 'deploy is never answered', faults: [{ on: DEPLOY, when: 'after', answer: 'silence' }], ends: COMPLETED },
  {
    name: 'a proxy gives up on deploy',
    faults: [{ on: DEPLOY, when: 'after', answer: ANSWERS.gatewayTimeout }],
    ends: COMPLETED,
  },
  {
    name: 'the answer to deploy is a login page',
    faults: [{ on: DEPLOY, when: 'after', answer: ANSWERS.loginPage }],
    ends: COMPLETED,
  },
  { name: 'the answer to link is lost', faults: [{ on: LINK, when: 'after', answer: 'cut' }], ends: COMPLETED },
  // Refusals that pass.
  {
    name: 'the database is contended',
    faults: [{ on: COMMISSION, when: 'before', answer: ANSWERS.contention, times: 3 }],
    ends: COMPLETED,
  },
  {
    name: 'no rack is connected',
    faults: [{ on: DEPLOY, when: 'before', answer: ANSWERS.noRack, times: 2 }],
    ends: COMPLETED,
  },
  {
    name: 'connections are cut',
    faults: [{ on: /./, when: 'before', answer: 'cut', times: 6 }],
    ends: COMPLETED,
    said: /cannot be reached/,
  },
  {
    name: 'machines are truncated',
    faults: [{ on: MACHINE, when: 'before', answer: ANSWERS.truncated, times: 4 }],
    ends: COMPLETED,
  },
  {
    name: 'MAAS is never there',
    faults: [{ on: /./, when: 'before', answer: ANSWERS.noRack, times: 1e9 }],
    ends: failed('unknown', 'preflight', /503/),
    effects: {},
    said: /503/,
  },
  {
    name: 'the key is refused',
    faults: [
      {
        on: /users/,
        when: 'before',
        answer: { status: 401, type: 'text/plain', body: 'expected &maas-secret-text' },
        times: 1e9,
      },
    ],
    ends: failed('unknown', 'preflight', /rejects the API key/),
    effects: {},
  },
  {
    name: 'the user is no administrator',
    options: { admin: false },
    ends: failed('unknown', 'preflight', /no administrator/),
    effects: {},
  },
  {
    name: 'MAAS is too old',
    options: { minor: 2 },
    ends: failed('unknown', 'preflight', /older than 3\.3/),
    effects: {},
  },
  // Which machine.
  {
    name: 'two machines match',
    before: (double) => {
      double.add('c07u31', { power: ipmi('10.0.200.77') });
      double.add('enlisted', { power: ipmi('10.0.200.31') });
    },
    ends: { ...failed('unknown', 'discover', /more than one machine/), candidates: 2 },
    effects: {},
  },
  {
    name: 'two machines have the BMC',
    before: (double) => void [1, 2].map((n) => double.add(`enlisted-${n}`, { power: ipmi('10.0.200.31') })),
    ends: { ...failed('unknown', 'discover', /more than one machine/), candidates: 2 },
    effects: {},
  },
  {
    name: 'the host has another BMC',
    before: (double) => void double.add('c07u31', { power: ipmi('10.0.200.77') }),
    ends: failed('unknown', 'discover', /10\.0\.200\.77, not 10\.0\.200\.31/),
    effects: {},
  },
  {
    name: 'an enlisted machine has the BMC',
    before: (double) => void double.add('fun-panda', { power: ipmi('10.0.200.31') }),
    ends: COMPLETED,
    effects: { commission: 1, allocate: 1, deploy: 1 },
  },
  {
    name: 'power parameters are masked',
    options: { maskPower: true },
    before: (double) => void double.add('c07u31', { power: ipmi('10.0.200.31') }),
    ends: COMPLETED,
    effects: { commission: 1, allocate: 1, deploy: 1 },
  },
  {
    name: 'the machine is deployed by somebody else',
    before: (double) => void double.add('c07u31', { ...READY, status: S.DEPLOYED, owner: 'alice' }),
    ends: failed('unknown', 'commission', /Deployed in MAAS, owned by alice/),
    effects: {},
  },
  {
    name: 'the machine is locked',
    before: (double) => void double.add('c07u31', { ...READY, locked: true }),
    ends: failed('unknown', 'discover', /locked/),
    effects: {},
  },
  // Power and boot.
  {
    name: 'power control fails while it is commissioned',
    behaviour: { powerFails: true },
    ends: failed('bmc', 'commission', /power/i),
    effects: { create: 1, commission: 1 },
  },
  { name: 'power control fails while it is deployed', meanwhile: powerBreaks, ends: failed('bmc', 'deploy', /power/i) },
  {
    name: 'power control fails while it is deployed, in 3.5',
    options: { minor: 5 },
    meanwhile: powerBreaks,
    ends: failed('bmc', 'deploy', /power/i),
  },
  {
    name: 'the machine never boots',
    behaviour: { commissioning: 'silent' },
    ends: failed('unknown', 'commission', /past its deadline/),
    effects: { create: 1, commission: 1 },
  },
  {
    name: 'a test of a disk fails',
    behaviour: { commissioning: 'disk-test-fails' },
    ends: failed('disk', 'commission', /smartctl-validate/),
    effects: { create: 1, commission: 1 },
    said: /SMART overall-health/,
  },
  {
    name: 'a script of commissioning fails',
    behaviour: { commissioning: 'fails' },
    ends: failed('unknown', 'commission', /50-maas-01-commissioning/),
    effects: { create: 1, commission: 1 },
  },
  { name: 'the owner stays after commissioning', behaviour: { ownerLingers: 180_000 }, ends: COMPLETED },
  // The network that it is deployed over.
  {
    name: 'no address is free',
    options: { freeAddresses: 0 },
    ends: failed('network', 'predeploy', /no address is free/),
    effects: { create: 1, commission: 1 },
  },
  {
    name: 'the subnet has no gateway',
    options: { gateway: null },
    ends: failed('network', 'predeploy', /gateway/),
    effects: { create: 1, commission: 1 },
  },
  {
    name: 'the VLAN has no DHCP',
    options: { dhcp: false },
    ends: failed('network', 'predeploy', /no DHCP/),
    effects: { create: 1, commission: 1 },
  },
  {
    name: 'the card is in no VLAN',
    behaviour: { bootVlan: null },
    ends: failed('network', 'predeploy', /VLAN/),
    effects: { create: 1, commission: 1 },
  },
  {
    name: 'MAAS has no such release',
    policy: { maas: { ...POLICY_MAAS(), distroSeries: 'nosuch' } },
    ends: failed('image', 'deploy', /nosuch/),
    effects: { create: 1, commission: 1, allocate: 1, release: 1 },
  },
  // The installation.
  {
    name: 'the installation fails at a disk',
    behaviour: { deploying: 'curtin-disk' },
    ends: failed('disk', 'deploy', /sgdisk|failed/),
    said: /Installation failed/,
  },
  {
    name: 'the installation fails at the network',
    behaviour: { deploying: 'curtin-network' },
    ends: failed('network', 'deploy', /failed/i),
  },
  {
    name: 'the installed system finds no data source, once',
    behaviour: { deploying: 'datasource' },
    meanwhile: healsAfterFirst,
    ends: { state: 'completed', attempt: 2 },
    effects: { create: 1, commission: 1, allocate: 2, deploy: 2, release: 1 },
  },
  {
    name: 'the installed system finds no data source, twice',
    behaviour: { deploying: 'datasource' },
    ends: failed('datasource', 'deploy', /data source/),
    effects: { create: 1, commission: 1, allocate: 2, deploy: 2, release: 1 },
  },
  {
    name: 'the machine is off while it is deployed',
    behaviour: { deploying: 'silent' },
    ends: failed('power', 'deploy', /./),
  },
  {
    name: 'the release between two attempts fails once',
    behaviour: { deploying: 'datasource', releasing: 'fails-once' },
    meanwhile: healsAfterFirst,
    ends: { state: 'completed', attempt: 2 },
    effects: { create: 1, commission: 1, allocate: 2, deploy: 2, release: 2 },
  },
  {
    name: 'the disks are erased between two attempts',
    policy: { maas: { ...POLICY_MAAS(), erase: 'quick' } },
    behaviour: { deploying: 'datasource' },
    meanwhile: healsAfterFirst,
    ends: { state: 'completed', attempt: 2 },
    effects: { create: 1, commission: 1, allocate: 2, deploy: 2, 'release-erase': 1 },
  },
  {
    name: 'the disks cannot be erased between two attempts',
    policy: { maas: { ...POLICY_MAAS(), erase: 'secure' } },
    behaviour: { deploying: 'datasource', erasing: 'fails' },
    ends: failed('disk', 'deploy', /release_without_erase/),
    effects: { create: 1, commission: 1, allocate: 1, deploy: 1, 'release-erase': 1 },
  },
  { name: 'the system never enrolls', silent: true, ends: failed('enrollment', 'enroll', /has not enrolled/) },
  { name: 'events arrive late and in another order', options: { reorderEvents: true }, ends: COMPLETED },
  { name: 'MAAS 3.3', options: { minor: 3 }, policy: { hardwareSync: true }, ends: COMPLETED },
  {
    name: 'the hardware sync stalls',
    policy: { hardwareSync: true },
    behaviour: { syncStalls: true },
    silent: true,
    meanwhile: enrollsLate,
    ends: failed('unknown', 'verify', /hardware sync/),
  },
  {
    name: 'the machine is deleted in MAAS',
    meanwhile: (rig, run) =>
      void (run.steps.at(-1)?.step === 'deploy' && run.reference && rig.double.machines.delete(run.reference)),
    ends: failed('unknown', 'deploy', /no longer has the machine/),
    effects: {},
  },
];

function POLICY_MAAS() {
  return {
    enableSsh: true,
    skipBmcConfig: true,
    distroSeries: null,
    hweKernel: null,
    storageLayout: null,
    erase: 'none',
    eraseMinutes: 120,
  } as const;
}

function powerBreaks(rig: Parameters<NonNullable<Life['meanwhile']>>[0]): void {
  for (const machine of rig.double.machines.values())
    if (machine.status === S.READY) machine.behaviour.powerFails = true;
}

function healsAfterFirst(rig: Parameters<NonNullable<Life['meanwhile']>>[0]): void {
  for (const machine of rig.double.machines.values()) {
    if ((machine.effects.release ?? machine.effects['release-erase']) !== undefined)
      machine.behaviour.deploying = 'passes';
  }
}

/** Its last report to MAAS is too old when it becomes active. */
async function enrollsLate(...[rig, run]: Parameters<NonNullable<Life['meanwhile']>>): Promise<void> {
  const machine = run.reference === null ? undefined : rig.double.machines.get(run.reference);
  if (machine?.status !== S.DEPLOYED || run.steps.at(-1)?.step !== 'enroll') return;
  machine.lastSync = rig.clock.now() - 3_600_000;
  await rig.enrolls(run);
}
