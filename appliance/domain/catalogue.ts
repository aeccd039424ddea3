// The catalogue: hardware types (SKUs), what is installed (profiles), clusters, and the high-speed links that are assigned in
// advance.

import type { CpuArchitecture } from './architecture.ts';
import type { CablingPolicy } from './cabling.ts';
import type { RequiredIdentity } from './hardware-identity.ts';
import type { Ipv4 } from './ipv4.ts';
import type { EnrollmentMode } from './machine.ts';
import type { DomainName, Hostname, ObjectName } from './names.ts';
import type { OnboardingSettings } from './onboarding.ts';
import type { Account, DiskImage, RoceLink, SiteBootstrap, Storage } from './system.ts';

export interface Sku {
  readonly name: ObjectName;
  readonly description: string;
  /** A node may reference only an active SKU. */
  readonly active: boolean;
  readonly architecture: CpuArchitecture;
  readonly gpus: number;
  /** Empty: every region. */
  readonly regions: readonly string[];
  /** Who decides about it: the team that a refused registration goes to. */
  readonly owner: string | null;
  /** What a machine of this SKU has at least; null: nothing is said. */
  readonly minimum: HardwareMinimum | null;
  /** A machine that has less: `require` fails its commissioning, `warn` reports it. */
  readonly hardware: HardwarePolicy;
}

/** Null: not said. */
export interface HardwareMinimum {
  readonly cores: number | null;
  readonly threads: number | null;
  readonly memoryBytes: number | null;
  /** So many disks of at least `diskBytes`. */
  readonly disks: number | null;
  readonly diskBytes: number | null;
  /** So many network cards of at least `nicMbps`. */
  readonly nics: number | null;
  readonly nicMbps: number | null;
}

export const HARDWARE_POLICIES = ['warn', 'require'] as const;
export type HardwarePolicy = (typeof HARDWARE_POLICIES)[number];

/** Values of fields that a SKU leaves out. */
export const SKU_DEFAULTS = { owner: null, minimum: null, hardware: 'warn' } as const satisfies Partial<Sku>;

export const PROFILE_KINDS = ['nixos', 'cloud-image', 'autoinstall', 'preseed', 'kickstart', 'ignition'] as const;
export type ProfileKind = (typeof PROFILE_KINDS)[number];

export interface Profile {
  readonly name: ObjectName;
  readonly kind: ProfileKind;
  readonly description: string;
  readonly active: boolean;
  readonly architectures: readonly CpuArchitecture[];
  /** SKUs that this profile may be installed on. Empty: every SKU. */
  readonly skus: readonly ObjectName[];
  /** Selects the services, and how the node joins its cluster. */
  readonly role: 'control-plane' | 'worker' | 'all-in-one' | null;
  /** Time limit of a deployment, in minutes. */
  readonly deployMinutes: number;
  /** Null: the only disk of the machine; for an image profile, the disk that the image is for. */
  readonly storage: Storage | null;
  readonly image: DiskImage | null;
  readonly packages: readonly string[];
  readonly kernelParameters: readonly string[];
  /** Null: the time zone of the site. */
  readonly timezone: string | null;
  readonly locale: string;
  readonly keyboard: string;
  /** NixOS only: the release whose defaults the node's data was created with. */
  readonly stateVersion: string;
  /** NixOS only: `pull`: the node installs itself; `push`: the appliance installs it with nixos-anywhere. */
  readonly install: 'pull' | 'push';
  /** How secrets are delivered to a NixOS node. */
  readonly secrets: 'files' | 'sops';
  /** Whether its nodes use their assigned high-speed links. */
  readonly roce: boolean;
  /** How its nodes enroll, unless a node overrides it. Null: the installed system has no agent that could enroll. */
  readonly enrollment: EnrollmentMode | null;
  /** The least that a machine must prove before it gets the secrets of an installation. */
  readonly identity: RequiredIdentity;
  /** With a TPM: these PCRs must have the accepted values. Empty: they are recorded and compared only. */
  readonly requiredPcrs: readonly number[];
  /** `require`: nothing is installed while a declared cable is in another port, or was not seen. */
  readonly cabling: CablingPolicy;
  /** In addition to the accounts of the site; one of the same name overrides the site's. */
  readonly accounts: readonly Account[];
  /** Runs at the first boot in place of the site's script. Null: the site's. */
  readonly bootstrap: SiteBootstrap | null;
  /** What its onboarding runs do differently from those of the site. */
  readonly onboarding: OnboardingSettings;
}

/** Values of fields that a profile leaves out. */
export const PROFILE_DEFAULTS = {
  storage: null,
  image: null,
  packages: [],
  kernelParameters: [],
  timezone: null,
  locale: 'en_US.UTF-8',
  keyboard: 'us',
  stateVersion: '24.11',
  install: 'pull',
  secrets: 'files',
  roce: false,
  enrollment: null,
  identity: 'bound',
  requiredPcrs: [],
  cabling: 'warn',
  accounts: [],
  bootstrap: null,
  onboarding: {},
} as const satisfies Partial<Profile>;

/** The kinds that write a whole image to the disk. */
export const IMAGE_KINDS: readonly ProfileKind[] = ['cloud-image', 'ignition'];

export interface Cluster {
  readonly name: ObjectName;
  readonly site: ObjectName;
  readonly domain: DomainName | null;
  /** The network that its members use to reach each other. */
  readonly network: ObjectName;
  /** Host names that form the cluster initially; other members join later. */
  readonly bootstrap: readonly string[];
  readonly vip: Ipv4 | null;
}

/** Created before the node exists; found by site and host name. */
export interface RoceAssignment {
  readonly name: ObjectName;
  readonly site: ObjectName;
  readonly hostname: Hostname;
  readonly links: readonly RoceLink[];
}

/** A host name has no dots, so the last dot ends the site name. */
export const roceName = (site: ObjectName, hostname: Hostname): ObjectName => `${site}.${hostname}` as ObjectName;
