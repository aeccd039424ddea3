// Settings of an installed system: disks, links, accounts and clocks. Sites and profiles define them, nodes add to them.

import type { Ipv4, Prefix } from './ipv4.ts';
import type { Mac } from './mac.ts';

/** How the disks of a machine are partitioned. */
export const DISK_LAYOUTS = ['single', 'mirror', 'lvm', 'luks', 'zfs'] as const;
export type DiskLayout = (typeof DISK_LAYOUTS)[number];

/**
 * Selects a disk. All given criteria must match, and exactly one disk of the machine must match them: with several matches
 * the selection fails.
 */
export interface DiskSelector {
  /** A name below /dev/disk/by-id, without the folder. */
  readonly byId: string | null;
  readonly serial: string | null;
  /** The model that the disk reports, case-insensitive. */
  readonly model: string | null;
  readonly minBytes: number | null;
  readonly maxBytes: number | null;
  readonly rotational: boolean | null;
}

export interface Storage {
  readonly layout: DiskLayout;
  /** One for `single` and `luks`, two or more for `mirror`, one or more for `lvm` and `zfs`. */
  readonly disks: readonly DiskSelector[];
  readonly filesystem: 'ext4' | 'xfs';
  /** 0: none. */
  readonly swapMegabytes: number;
}

/** A user account. Login is by SSH key only; there are no passwords. */
export interface Account {
  readonly name: string;
  readonly sshKeys: readonly string[];
  /** Administers the node. What it may do as root is in `sudo`. */
  readonly admin: boolean;
  /** What it may run as root, without a password, because it has none. Absent or null: nothing. */
  readonly sudo?: SudoGrant | null;
}

/** Named in the inventory with the person who reviewed it. */
export interface SudoGrant {
  /** `all`: everything. Otherwise each program with exactly these arguments. */
  readonly commands: 'all' | readonly string[];
  readonly reviewer: string;
}

export interface Route {
  readonly to: Prefix;
  readonly via: Ipv4;
}

export const BOND_MODES = ['active-backup', '802.3ad', 'balance-xor', 'balance-rr', 'balance-alb'] as const;
export type BondMode = (typeof BOND_MODES)[number];

/** An image that is written to the disk unchanged. */
export interface DiskImage {
  /** A file of the asset library, or an http(s) URL. */
  readonly source: string;
  readonly sha256: string;
  readonly format: 'raw' | 'gzip' | 'zstd';
}

/** A script of the site that runs at first boot, before Coldiron's own steps. It has its own version, so that a failure shows which part failed. */
export interface SiteBootstrap {
  readonly name: string;
  readonly version: string;
  /** The text of the shell script, read together with the inventory. */
  readonly script: string;
}

/** A high-speed link, assigned in advance by site and host name. Used only if the profile enables it. */
export interface RoceLink {
  readonly name: string;
  readonly mac: Mac | null;
  readonly address: Ipv4;
  readonly prefixLength: number;
  readonly mtu: number;
  /** The lossless traffic class (PFC); null: unchanged. */
  readonly priority: number | null;
}
