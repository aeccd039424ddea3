// Machines and lifecycles for tests: defaults, with overrides.

import { NO_HARDWARE } from '../../appliance/domain/hardware-identity.ts';
import type { ArmedIntent, IntentId } from '../../appliance/domain/intent.ts';
import type { Lifecycle, LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import {
  type BmcEndpoint,
  type Machine,
  type MachineId,
  macsOf,
  NODE_DEFAULTS,
} from '../../appliance/domain/machine.ts';
import { type Hostname, type ObjectName, parseHostname, parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';

export const T0 = Date.UTC(2030, 0, 1);

export const machineId = (number: number): MachineId =>
  `00000000-0000-4000-8000-${number.toString().padStart(12, '0')}` as MachineId;

export const aLife = (state: LifecycleState, changes: Partial<Lifecycle> = {}): Lifecycle => ({
  state,
  since: T0,
  deadline: null,
  resume: null,
  failure: null,
  note: null,
  fallbackUsed: false,
  ...changes,
});

interface MachineChanges {
  readonly number?: number;
  readonly lifecycle?: Lifecycle;
  readonly bmc?: BmcEndpoint | null;
  readonly intent?: ArmedIntent | null;
}

export function aMachine({ number = 1, lifecycle = aLife('registered'), bmc = null, intent = null }: MachineChanges) {
  const hostname: Hostname = mustParse(parseHostname(`node${number.toString().padStart(2, '0')}`));
  const network: ObjectName = mustParse(parseObjectName('provisioning'));
  const mac = mustParse(parseMac(`52:54:00:12:34:${(0x55 + number).toString(16)}`));
  const machine: Machine = {
    id: machineId(number),
    spec: {
      ...NODE_DEFAULTS,
      hostname,
      site: mustParse(parseObjectName('lab')),
      sku: null,
      profile: null,
      cluster: null,
      architecture: 'x86_64',
      uuid: null,
      serial: null,
      interfaces: [{ name: 'eth0', mac, network, address: null, mtu: null }],
      bmc,
      secureBoot: null,
      gpus: null,
      region: null,
      access: null,
      enrollment: null,
      labels: {},
    },
    source: 'example',
    lifecycle,
    health: 'unknown',
    hardware: NO_HARDWARE,
    intent,
    version: 1,
    revision: 1,
  };
  return machine;
}

export const anIntent = (changes: Partial<ArmedIntent> = {}): ArmedIntent => ({
  id: 'intent-1' as IntentId,
  kind: 'deploy',
  machine: machineId(1),
  macs: macsOf(aMachine({}).spec),
  uuid: null,
  profile: null,
  actor: 'token:ops',
  armedAt: T0,
  expiresAt: T0 + 3_600_000,
  consumedAt: null,
  revokedAt: null,
  ...changes,
});
