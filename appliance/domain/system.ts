// What an installed machine is to look like: its disks, links, people and clocks. Profiles and sites say it, nodes add to it.

import type { Ipv4, Prefix } from './ipv4.ts';
import type { Mac } from './mac.ts';

/** How the disks of a machine are divided. */
export const DISK_LAYOUTS = ['single', 'mirror', 'lvm', 'luks', 'zfs'] as const;
export type DiskLayout = (typeof DISK_LAYOUTS)[number];

/**
 * Which disk is meant. Everything that is given must hold, and exactly one disk of the machine must be left: between two that
 * match nobody guesses.
 */
export interface DiskSelector {
  /** A name below /dev/disk/by-id, without the folder. */
  readonly byId: string | null;
  readonly serial: string | null;
  /** The model as the disk tells it, upper and lower case alike. */
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

/** Somebody who may log in. There are no passwords, only keys. */
export interface Account {
  readonly name: string;
  readonly sshKeys: readonly string[];
  /** May become root, without a password. */
  readonly admin: boolean;
}

export interface Route {
  readonly to: Prefix;
  readonly via: Ipv4;
}

export const BOND_MODES = ['active-backup', '802.3ad', 'balance-xor', 'balance-rr', 'balance-alb'] as const;
export type BondMode = (typeof BOND_MODES)[number];

/** An image that is written to the disk as it is. */
export interface DiskImage {
  /** A file of the asset library, or an http(s) URL. */
  readonly source: string;
  readonly sha256: string;
  readonly format: 'raw' | 'gzip' | 'zstd';
}

/** Runs on the first boot before anything of ours, and is versioned on its own, so that a failure tells whose it was. */
export interface SiteBootstrap {
  readonly name: string;
  readonly version: string;
  /** The shell script itself, read when the inventory was. */
  readonly script: string;
}

/** A high-speed link that was assigned beforehand, by site and host name. Used only where the profile enables it. */
export interface RoceLink {
  readonly name: string;
  readonly mac: Mac | null;
  readonly address: Ipv4;
  readonly prefixLength: number;
  readonly mtu: number;
  /** The traffic class whose frames must not be lost; null: left as it is. */
  readonly priority: number | null;
}
