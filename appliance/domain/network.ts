// Sites and the networks in them: where machines boot, and under which rules.

import type { Ipv4, Ipv4Range, Prefix } from './ipv4.ts';
import type { DomainName, ObjectName } from './names.ts';
import type { Account, Route, SiteBootstrap } from './system.ts';

/** Whether BMCs are really touched, only written down, or left alone. */
export const BMC_MODES = ['real', 'recorder', 'disabled'] as const;
export type BmcMode = (typeof BMC_MODES)[number];

export interface Site {
  readonly name: ObjectName;
  readonly domain: DomainName | null;
  readonly region: string | null;
  readonly bmcMode: BmcMode;
  /** Where installed nodes reach the appliance. */
  readonly apiUrl: string | null;
  /** Names or addresses of time servers. */
  readonly ntp: readonly string[];
  readonly timezone: string | null;
  readonly accounts: readonly Account[];
  readonly bootstrap: SiteBootstrap | null;
  /** Whose machines may log in and use what the clusters offer. Empty: the networks of the site. */
  readonly inside: readonly Prefix[];
}

/** A site of which nobody said more. */
export const SITE_DEFAULTS = {
  apiUrl: null,
  ntp: [],
  timezone: null,
  accounts: [],
  bootstrap: null,
  inside: [],
} as const satisfies Partial<Site>;

/** What a machine that nobody has registered gets when it boots from this network. */
export const UNKNOWN_POLICIES = ['ignore', 'refuse', 'hold', 'local-disk', 'inspect'] as const;
export type UnknownPolicy = (typeof UNKNOWN_POLICIES)[number];

export const DHCP_MODES = ['off', 'proxy', 'authoritative'] as const;
export type DhcpMode = (typeof DHCP_MODES)[number];

export const NETWORK_PURPOSES = ['provisioning', 'production', 'other'] as const;
export type NetworkPurpose = (typeof NETWORK_PURPOSES)[number];

export interface SiteNetwork {
  readonly name: ObjectName;
  readonly site: ObjectName;
  readonly prefix: Prefix;
  readonly vlan: number | null;
  readonly gateway: Ipv4 | null;
  readonly dns: readonly Ipv4[];
  readonly domain: DomainName | null;
  /** Addresses for machines without a reservation. */
  readonly pools: readonly Ipv4Range[];
  /** The appliance's own address on this network, as machines reach it; null: nothing boots from here. */
  readonly server: Ipv4 | null;
  /** The interface DHCP listens on; null: DHCP is off, or comes by a relay to whichever interface others name. */
  readonly interface: string | null;
  readonly dhcp: DhcpMode;
  readonly unknown: UnknownPolicy;
  /**
   * Which iPXE build x86-64 UEFI machines get: one with the firmware's own driver (snponly), or one with drivers for every
   * card it knows. Debian's build of the second hangs on OVMF when it is to go on to the disk, so the first is the rule.
   */
  readonly efiLoader: 'ipxe' | 'snponly';
  /** Machines here get shim and a signed GRUB instead of iPXE. */
  readonly secureBoot: boolean;
  /** Null: as large as usual. */
  readonly mtu: number | null;
  /** Beside the default route, for machines on this network. */
  readonly routes: readonly Route[];
  /** What the inventory says; `purposeOf` says what that comes to. */
  readonly purpose: NetworkPurpose | null;
}

/** A network of which nobody said more. */
export const NETWORK_DEFAULTS = { mtu: null, routes: [], purpose: null } as const satisfies Partial<SiteNetwork>;

/** Where machines boot from they are provisioned; elsewhere they work. */
export const purposeOf = ({ purpose, server }: Pick<SiteNetwork, 'purpose' | 'server'>): NetworkPurpose =>
  purpose ?? (server === null ? 'production' : 'provisioning');
