// A machine of the MAAS double: its record, and the transitions that MAAS allows. From the published behaviour of MAAS 3.3 to 3.7.

export const S = {
  NEW: 0,
  COMMISSIONING: 1,
  FAILED_COMMISSIONING: 2,
  MISSING: 3,
  READY: 4,
  RESERVED: 5,
  DEPLOYED: 6,
  RETIRED: 7,
  BROKEN: 8,
  DEPLOYING: 9,
  ALLOCATED: 10,
  FAILED_DEPLOYMENT: 11,
  RELEASING: 12,
  RELEASING_FAILED: 13,
  DISK_ERASING: 14,
  FAILED_DISK_ERASING: 15,
  TESTING: 21,
  FAILED_TESTING: 22,
} as const;

export const NAMES: Readonly<Record<number, string>> = {
  0: 'New',
  1: 'Commissioning',
  2: 'Failed commissioning',
  3: 'Missing',
  4: 'Ready',
  5: 'Reserved',
  6: 'Deployed',
  7: 'Retired',
  8: 'Broken',
  9: 'Deploying',
  10: 'Allocated',
  11: 'Failed deployment',
  12: 'Releasing',
  13: 'Releasing failed',
  14: 'Disk erasing',
  15: 'Failed disk erasing',
  21: 'Testing',
  22: 'Failed testing',
};

export interface DoubleLink {
  id: number;
  mode: 'auto' | 'dhcp' | 'static' | 'link_up';
  subnet: number | null;
  ip?: string;
}

export interface DoubleInterface {
  id: number;
  name: string;
  mac: string;
  vlan: number | null;
  links: DoubleLink[];
}

export interface DoubleResult {
  id: number;
  set: 'commissioning' | 'testing' | 'installation';
  name: string;
  status: number;
  exit: number | null;
  output: string;
}

/** How the hardware behaves; what is not named goes well. */
export interface Behaviour {
  /** Power control fails: with an error to the caller, a return to the earlier status, and an event. */
  powerFails?: boolean;
  commissioning?: 'passes' | 'fails' | 'stuck' | 'disk-test-fails' | 'silent';
  deploying?: 'passes' | 'curtin-disk' | 'curtin-network' | 'datasource' | 'stuck' | 'silent';
  erasing?: 'passes' | 'fails' | 'stuck';
  releasing?: 'passes' | 'fails-once' | 'slow';
  /** After it is ready, MAAS keeps the owner for so long. */
  ownerLingers?: number;
  syncStalls?: boolean;
  bootVlan?: number | null;
}

export interface DoubleMachine {
  systemId: string;
  hostname: string;
  status: number;
  /** Of an abort and of error reverts. */
  previous: number;
  since: number;
  owner: string | null;
  ownerUntil: number | null;
  annotations: Record<string, string>;
  agentName: string;
  locked: boolean;
  power: { type: string; parameters: Record<string, string>; state: 'on' | 'off' | 'unknown' };
  interfaces: DoubleInterface[];
  commissioned: boolean;
  userData: string | null;
  series: string;
  kernel: string;
  hwSync: boolean;
  lastSync: number | null;
  results: DoubleResult[];
  options: Record<string, string>;
  behaviour: Behaviour;
  /** How often each operation really took effect. */
  effects: Record<string, number>;
  phase: number;
}

/** §2 of the facts, by number. Aborts and error reverts bypass it. */
const TRANSITIONS: Readonly<Record<number, readonly number[]>> = {
  0: [1, 3, 4, 7, 8, 17, 21],
  1: [0, 2, 3, 4, 7, 8, 21],
  2: [1, 3, 7, 8, 17, 21],
  4: [1, 3, 5, 7, 8, 10, 17, 21],
  6: [3, 4, 8, 10, 12, 14, 17, 21],
  8: [1, 4, 6, 12, 14, 17, 21],
  9: [3, 4, 6, 8, 10, 11, 12, 14],
  10: [3, 4, 7, 8, 9, 12, 14, 17, 21],
  11: [3, 4, 8, 10, 12, 14, 17, 21],
  12: [0, 3, 4, 5, 6, 8, 10, 11, 13, 15],
  13: [4, 8, 12, 14, 21],
  14: [4, 8, 12, 15],
  15: [4, 8, 10, 12, 14, 17, 21],
  21: [0, 1, 3, 4, 5, 6, 7, 8, 10, 11, 13, 15, 18, 20, 22],
  22: [1, 3, 4, 6, 8, 17, 21],
};

export const mayMove = (from: number, to: number): boolean => TRANSITIONS[from]?.includes(to) ?? false;

export const newMachine = (systemId: string, hostname: string, now: number): DoubleMachine => ({
  ...{ systemId, hostname, status: S.NEW, previous: S.NEW, since: now, owner: null, ownerUntil: null },
  ...{ annotations: {}, agentName: '', locked: false, interfaces: [], commissioned: false, userData: null },
  ...{ series: '', kernel: '', hwSync: false, lastSync: null, results: [], options: {}, behaviour: {}, effects: {} },
  power: { type: '', parameters: {}, state: 'off' },
  phase: 0,
});

export interface MachineView {
  /** `3.3`: the version decides which fields there are. */
  readonly minor: number;
  readonly vlans: ReadonlyMap<number, { id: number; vid: number; dhcp_on: boolean; relay_vlan: number | null }>;
  readonly subnets: ReadonlyMap<number, { id: number; cidr: string }>;
  readonly message: string;
  readonly interval: number;
}

export function machineJson(machine: DoubleMachine, view: MachineView): object {
  const cards = machine.interfaces.map((card) => interfaceJson(card, view));
  const newest = (set: DoubleResult['set']) => machine.results.findLast((result) => result.set === set)?.id ?? null;
  const deployed = machine.status === S.DEPLOYED || machine.status === S.DEPLOYING;
  return {
    system_id: machine.systemId,
    hostname: machine.hostname,
    fqdn: `${machine.hostname}.maas`,
    status: machine.status,
    status_name: NAMES[machine.status],
    status_message: view.message,
    ...(view.minor >= 5 && { error_description: '' }),
    power_state: machine.power.state,
    power_type: machine.power.type,
    owner: machine.owner,
    owner_data: machine.annotations,
    workload_annotations: machine.annotations,
    locked: machine.locked,
    netboot: machine.status === S.DEPLOYING,
    osystem: deployed ? 'ubuntu' : '',
    distro_series: deployed ? machine.series : '',
    hwe_kernel: machine.kernel,
    architecture: 'amd64/generic',
    ip_addresses: machine.interfaces.flatMap(({ links }) => links.flatMap(({ ip }) => ip ?? [])),
    interface_set: cards,
    boot_interface: cards[0] ?? null,
    current_commissioning_result_id: newest('commissioning'),
    current_testing_result_id: newest('testing'),
    current_installation_result_id: newest('installation'),
    commissioning_status: newest('commissioning') === null ? -1 : 2,
    testing_status: -1,
    hardware_info: { cpu_model: 'Unknown' },
    ...(view.minor >= 4 && { enable_hw_sync: machine.hwSync }),
    sync_interval: machine.hwSync ? view.interval / 1000 : null,
    // 3.3 writes it without a zone.
    last_sync:
      machine.lastSync === null
        ? null
        : new Date(machine.lastSync).toISOString().replace('Z', view.minor >= 4 ? 'Z' : ''),
  };
}

export const interfaceJson = (card: DoubleInterface, { vlans, subnets }: MachineView): object => ({
  id: card.id,
  name: card.name,
  mac_address: card.mac,
  vlan: card.vlan === null ? null : (vlans.get(card.vlan) ?? null),
  links: card.links.map(({ id, mode, subnet, ip }) => ({
    ...{ id, mode },
    ...(subnet !== null && { subnet: subnets.get(subnet) }),
    ...(ip !== undefined && { ip_address: ip }),
  })),
});
