// What machines may be (SKUs), what they may become (profiles), what they form together (clusters), and the high-speed links
// they were assigned beforehand.

import type { CpuArchitecture } from './architecture.ts';
import type { Ipv4 } from './ipv4.ts';
import type { EnrollmentMode } from './machine.ts';
import type { DomainName, Hostname, ObjectName } from './names.ts';
import type { Account, DiskImage, RoceLink, Storage } from './system.ts';

export interface Sku {
  readonly name: ObjectName;
  readonly description: string;
  /** Only an active entry may be named by a node. */
  readonly active: boolean;
  readonly architecture: CpuArchitecture;
  readonly gpus: number;
  /** Empty: every region. */
  readonly regions: readonly string[];
}

export const PROFILE_KINDS = ['nixos', 'cloud-image', 'autoinstall', 'preseed', 'kickstart', 'ignition'] as const;
export type ProfileKind = (typeof PROFILE_KINDS)[number];

export interface Profile {
  readonly name: ObjectName;
  readonly kind: ProfileKind;
  readonly description: string;
  readonly active: boolean;
  readonly architectures: readonly CpuArchitecture[];
  /** SKUs this profile may be put on. Empty: every SKU. */
  readonly skus: readonly ObjectName[];
  /** control-plane, worker, all-in-one: chooses services and how the node enters its cluster. */
  readonly role: 'control-plane' | 'worker' | 'all-in-one' | null;
  /** How long a deployment may take before it is called failed, in minutes. */
  readonly deployMinutes: number;
  /** Null: one disk, the only one there is; or, where an image is written, whichever the image is for. */
  readonly storage: Storage | null;
  readonly image: DiskImage | null;
  readonly packages: readonly string[];
  readonly kernelParameters: readonly string[];
  /** Null: the site's. */
  readonly timezone: string | null;
  readonly locale: string;
  readonly keyboard: string;
  /** Of NixOS: the release whose defaults its data was made with. */
  readonly stateVersion: string;
  /** Of NixOS: whether the node installs itself, or the appliance does it with nixos-anywhere. */
  readonly install: 'pull' | 'push';
  /** How secrets reach a NixOS node. */
  readonly secrets: 'files' | 'sops';
  /** Whether its nodes use the high-speed links they were assigned. */
  readonly roce: boolean;
  /** How its nodes enroll, unless they say so themselves. Null: nothing is installed that could. */
  readonly enrollment: EnrollmentMode | null;
  /** Beside those of the site; one of the same name takes the place of the site's. */
  readonly accounts: readonly Account[];
}

/** A profile of which nobody said more. */
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
  accounts: [],
} as const satisfies Partial<Profile>;

/** The kinds that write a whole image to the disk. */
export const IMAGE_KINDS: readonly ProfileKind[] = ['cloud-image', 'ignition'];

export interface Cluster {
  readonly name: ObjectName;
  readonly site: ObjectName;
  readonly domain: DomainName | null;
  /** The network its members talk to each other on. */
  readonly network: ObjectName;
  /** Host names that form the cluster at first; later members join. */
  readonly bootstrap: readonly string[];
  readonly vip: Ipv4 | null;
}

/** Made before the node is there, and found by site and host name. */
export interface RoceAssignment {
  readonly name: ObjectName;
  readonly site: ObjectName;
  readonly hostname: Hostname;
  readonly links: readonly RoceLink[];
}

/** A host name has no dots, so the last one tells where the site's name ends. */
export const roceName = (site: ObjectName, hostname: Hostname): ObjectName => `${site}.${hostname}` as ObjectName;
