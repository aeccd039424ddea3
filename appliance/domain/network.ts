// Sites and their networks: where machines boot, and by which rules.

import type { Ipv4, Ipv4Range, Prefix } from './ipv4.ts';
import type { DomainName, ObjectName } from './names.ts';
import type { SiteOnboarding } from './onboarding.ts';
import type { Account, Route, SiteBootstrap } from './system.ts';

/** Whether BMC commands are sent, only recorded, or disabled. */
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
  /** Prefixes whose hosts may log in and use the services of the clusters. Empty: the networks of the site. */
  readonly inside: readonly Prefix[];
  /** The policy of onboarding runs, as declared; `policyOf` applies defaults. */
  readonly onboarding: SiteOnboarding;
  /** A machine whose disks cannot be erased may be released with its data on them. It is marked, and nothing is deployed to it. */
  readonly releaseWithoutErase: boolean;
}

/** Values of fields that a site leaves out. */
export const SITE_DEFAULTS = {
  apiUrl: null,
  ntp: [],
  timezone: null,
  accounts: [],
  bootstrap: null,
  inside: [],
  onboarding: {},
  releaseWithoutErase: false,
} as const satisfies Partial<Site>;

/** What an unregistered machine gets when it boots from this network. */
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
  /** The address of the appliance that machines of this network use; null: machines do not boot from this network. */
  readonly server: Ipv4 | null;
  /** The interface DHCP listens on; null: DHCP is off, or a relay forwards to the interface of another network. */
  readonly interface: string | null;
  readonly dhcp: DhcpMode;
  readonly unknown: UnknownPolicy;
  /**
   * Which iPXE build x86-64 UEFI machines get: one that uses the firmware's driver (snponly), or one with its own drivers
   * (ipxe). Debian's build of the second hangs on OVMF when it should boot from disk, so the first is the default.
   */
  readonly efiLoader: 'ipxe' | 'snponly';
  /** Machines here get shim and a signed GRUB instead of iPXE. */
  readonly secureBoot: boolean;
  /** Null: 1500. */
  readonly mtu: number | null;
  /** In addition to the default route, for machines on this network. */
  readonly routes: readonly Route[];
  /** As declared; `purposeOf` applies the default. */
  readonly purpose: NetworkPurpose | null;
}

/** Values of fields that a network leaves out. */
export const NETWORK_DEFAULTS = { mtu: null, routes: [], purpose: null } as const satisfies Partial<SiteNetwork>;

/** The default: a network that machines boot from is for provisioning, any other for production. */
export const purposeOf = ({ purpose, server }: Pick<SiteNetwork, 'purpose' | 'server'>): NetworkPurpose =>
  purpose ?? (server === null ? 'production' : 'provisioning');
