// A machine: its declaration, and its current state.

import type { Allocation } from './allocation.ts';
import type { CpuArchitecture } from './architecture.ts';
import type { SwitchPort } from './cabling.ts';
import type { ChassisUuid } from './chassis.ts';
import type { EkFingerprint, HardwareRecord } from './hardware-identity.ts';
import type { ArmedIntent } from './intent.ts';
import type { Ipv4 } from './ipv4.ts';
import type { Health, Lifecycle } from './lifecycle.ts';
import type { Mac } from './mac.ts';
import type { Hostname, ObjectName } from './names.ts';
import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';
import type { Account, BondMode, Storage } from './system.ts';

export type MachineId = Branded<string, 'MachineId'>;

export function parseMachineId(text: string): Parsed<MachineId> {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
    ? parsed(text as MachineId)
    : unparsable(`not a node id: ${shown(text)}`);
}

export interface MachineInterface {
  readonly name: string;
  readonly mac: Mac | null;
  /** The untagged network of its switch port. */
  readonly network: ObjectName;
  readonly address: Ipv4 | null;
  /** Null: the MTU of the network. */
  readonly mtu: number | null;
  /** The switch port that its cable belongs in. Absent: not declared. */
  readonly switch?: SwitchPort;
}

/** A bond of several network cards. A member may have its own address for booting; the installed system uses the bond's. */
export interface MachineBond {
  readonly name: string;
  readonly mode: BondMode;
  /** Names of interfaces, in order. */
  readonly members: readonly string[];
  /** Null: the bond only carries VLANs. */
  readonly network: ObjectName | null;
  readonly address: Ipv4 | null;
  readonly mtu: number | null;
}

export interface MachineVlan {
  readonly name: string;
  readonly id: number;
  /** The interface, bond or VLAN that carries it. */
  readonly parent: string;
  readonly network: ObjectName | null;
  readonly address: Ipv4 | null;
  readonly mtu: number | null;
}

/** `ipmi+redfish`: IPMI, and Redfish with the same login when the machine ignores the boot device that IPMI sets. */
export const BMC_DRIVERS = ['ipmi', 'redfish', 'ipmi+redfish'] as const;

export interface BmcEndpoint {
  readonly address: Ipv4;
  readonly driver: (typeof BMC_DRIVERS)[number];
  readonly username: string | null;
  /** A file that holds the password; the password itself is never in the inventory. */
  readonly passwordFile: string | null;
}

/** How to reach an already running host while it is added. */
export interface HostAccess {
  readonly host: string;
  readonly port: number;
  readonly sshUsername: string;
  readonly sshPublicKey: string;
}

/** `first-boot`: the installed system contains its one-time token. `manual`: an operator installs a bundle on the host. */
export const ENROLLMENT_MODES = ['first-boot', 'manual'] as const;
export type EnrollmentMode = (typeof ENROLLMENT_MODES)[number];

export interface MachineSpec {
  readonly hostname: Hostname;
  readonly site: ObjectName | null;
  readonly sku: ObjectName | null;
  readonly profile: ObjectName | null;
  readonly cluster: ObjectName | null;
  readonly architecture: CpuArchitecture;
  readonly uuid: ChassisUuid | null;
  readonly serial: string | null;
  /** The TPMs that the inventory vouches for. */
  readonly tpm: readonly EkFingerprint[];
  readonly interfaces: readonly MachineInterface[];
  readonly bonds: readonly MachineBond[];
  readonly vlans: readonly MachineVlan[];
  readonly bmc: BmcEndpoint | null;
  readonly secureBoot: boolean | null;
  /** Its PXE ROM gets only the boot file: no option 60, no option 43. */
  readonly plainPxe: boolean;
  readonly gpus: number | null;
  readonly region: string | null;
  readonly access: HostAccess | null;
  /** Null: the profile decides. */
  readonly enrollment: EnrollmentMode | null;
  /** Null: the storage of the profile. */
  readonly storage: Storage | null;
  /** In addition to the accounts of the site and the profile; one of the same name overrides theirs. */
  readonly accounts: readonly Account[];
  readonly packages: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

/** Values of fields that a node leaves out. */
export const NODE_DEFAULTS = {
  enrollment: null,
  tpm: [],
  plainPxe: false,
  bonds: [],
  vlans: [],
  storage: null,
  accounts: [],
  packages: [],
} as const satisfies Partial<MachineSpec>;

export interface Machine {
  readonly id: MachineId;
  readonly spec: MachineSpec;
  /** What declared it: the name of an inventory source, `api`, or `network` for a discovered machine. */
  readonly source: string;
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  /** What its identity rests on. */
  readonly hardware: HardwareRecord;
  /** The newest intent, also when it is no longer valid; see `intentValidity`. */
  readonly intent: ArmedIntent | null;
  /** Who uses it. Absent: nobody. */
  readonly allocation?: Allocation;
  /** Counts every change of this machine; a write based on an older version is rejected. */
  readonly version: number;
  /** The store-wide revision of its last change. */
  readonly revision: number;
}

export const macsOf = (spec: MachineSpec): Mac[] =>
  spec.interfaces.flatMap((nic) => (nic.mac === null ? [] : [nic.mac]));

/** Every link that can be on a network: interfaces, bonds, VLANs. */
export const linksOf = (spec: MachineSpec): readonly (MachineInterface | MachineBond | MachineVlan)[] =>
  spec.bonds.length + spec.vlans.length === 0 ? spec.interfaces : [...spec.interfaces, ...spec.bonds, ...spec.vlans];

export const addressesOf = (spec: MachineSpec): Ipv4[] => linksOf(spec).flatMap(({ address }) => address ?? []);
