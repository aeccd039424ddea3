// One machine on one network, with overrides. Every value goes through its parser.

import { type ClientFacts, factsFromQuestion } from '../../appliance/boot/client-facts.ts';
import { parseClientArchCode } from '../../appliance/domain/architecture.ts';
import { PROFILE_DEFAULTS, type Profile } from '../../appliance/domain/catalogue.ts';
import { parseChassisUuid } from '../../appliance/domain/chassis.ts';
import { NO_HARDWARE } from '../../appliance/domain/hardware-identity.ts';
import { HOUR, type Instant, MINUTE } from '../../appliance/domain/instant.ts';
import type { ArmedIntent, IntentId } from '../../appliance/domain/intent.ts';
import { parseIpv4, parsePrefix } from '../../appliance/domain/ipv4.ts';
import type { Lifecycle } from '../../appliance/domain/lifecycle.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { type Machine, type MachineSpec, NODE_DEFAULTS, parseMachineId } from '../../appliance/domain/machine.ts';
import { parseHostname, parseObjectName } from '../../appliance/domain/names.ts';
import { NETWORK_DEFAULTS, SITE_DEFAULTS, type Site, type SiteNetwork } from '../../appliance/domain/network.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';

export const NOW: Instant = Date.UTC(2026, 0, 10, 12);
export const MAC = mustParse(parseMac('52:54:00:12:34:56'));
export const OTHER_MAC = mustParse(parseMac('52:54:00:99:99:99'));
export const UUID = mustParse(parseChassisUuid('7a11ab1e-0000-4080-8000-525400123456'));
export const OTHER_UUID = mustParse(parseChassisUuid('0badcafe-0000-4080-8000-525400123456'));
export const NODE_ID = mustParse(parseMachineId('00000000-0000-4000-8000-000000000001'));
export const OTHER_NODE_ID = mustParse(parseMachineId('00000000-0000-4000-8000-000000000002'));
export const INTENT_ID = 'intent-1' as IntentId;
export const SERVER = { address: mustParse(parseIpv4('10.0.100.10')), bootPort: 8080 };

export const name = (text: string) => mustParse(parseObjectName(text));
export const architecture = (code: number) => mustParse(parseClientArchCode(code));

export const SITE: Site = { ...SITE_DEFAULTS, name: name('lab'), domain: null, region: null, bmcMode: 'recorder' };

export const networkWith = (changes: Partial<SiteNetwork> = {}): SiteNetwork => ({
  ...NETWORK_DEFAULTS,
  name: name('provisioning'),
  site: SITE.name,
  prefix: mustParse(parsePrefix('10.0.100.0/24')),
  vlan: 100,
  gateway: null,
  dns: [],
  domain: null,
  pools: [],
  server: SERVER.address,
  interface: 'eth1',
  dhcp: 'authoritative',
  unknown: 'refuse',
  efiLoader: 'ipxe',
  secureBoot: false,
  ...changes,
});

export const profileWith = (changes: Partial<Profile> = {}): Profile => ({
  ...PROFILE_DEFAULTS,
  name: name('worker'),
  kind: 'nixos',
  description: '',
  active: true,
  architectures: ['x86_64'],
  skus: [],
  role: 'worker',
  deployMinutes: 60,
  ...changes,
});

export const intentWith = (changes: Partial<ArmedIntent> = {}): ArmedIntent => ({
  id: INTENT_ID,
  kind: 'deploy',
  machine: NODE_ID,
  macs: [MAC],
  uuid: UUID,
  profile: name('worker'),
  actor: 'local:ada',
  armedAt: NOW - MINUTE,
  expiresAt: NOW + HOUR,
  consumedAt: null,
  revokedAt: null,
  ...changes,
});

export const eraseIntentWith = (changes: Partial<ArmedIntent> = {}): ArmedIntent =>
  intentWith({ kind: 'erase', profile: null, ...changes });

interface MachineChanges {
  readonly spec?: Partial<MachineSpec>;
  readonly intent?: ArmedIntent | null;
  readonly lifecycle?: Partial<Lifecycle>;
}

export const machineIn = (state: Lifecycle['state'], changes: MachineChanges = {}): Machine => ({
  id: NODE_ID,
  spec: {
    ...NODE_DEFAULTS,
    hostname: mustParse(parseHostname('node01')),
    site: SITE.name,
    sku: null,
    profile: name('worker'),
    cluster: null,
    architecture: 'x86_64',
    uuid: UUID,
    serial: null,
    interfaces: [{ name: 'eth0', mac: MAC, network: name('provisioning'), address: null, mtu: null }],
    bmc: null,
    secureBoot: null,
    gpus: null,
    region: null,
    access: null,
    enrollment: null,
    labels: {},
    ...changes.spec,
  },
  source: 'example',
  lifecycle: {
    state,
    since: NOW - HOUR,
    deadline: null,
    resume: null,
    failure: null,
    note: null,
    fallbackUsed: false,
    ...changes.lifecycle,
  },
  health: 'unknown',
  hardware: NO_HARDWARE,
  intent: changes.intent ?? null,
  version: 1,
  revision: 1,
});

/** The firmware of node01, or its iPXE, with its UUID. */
export const factsOf = (code: number, changes: Partial<ClientFacts> = {}): ClientFacts => ({
  ...factsFromQuestion({ mac: MAC, architecture: architecture(code), uuid: UUID, relay: null, stage: 'firmware' }),
  ...changes,
});
