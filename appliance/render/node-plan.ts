// All values of the renderings of one node, computed once from the inventory. Renderers read only this, so that the same plan
// always renders to the same bytes.

import type { CpuArchitecture } from '../domain/architecture.ts';
import type { ProfileKind } from '../domain/catalogue.ts';
import type { Ipv4, Prefix } from '../domain/ipv4.ts';
import type { Mac } from '../domain/mac.ts';
import type { EnrollmentMode, MachineId } from '../domain/machine.ts';
import type { DomainName, Hostname, ObjectName } from '../domain/names.ts';
import type { Account, BondMode, DiskImage, RoceLink, Route, SiteBootstrap, Storage } from '../domain/system.ts';

export type NodeRole = 'control-plane' | 'worker' | 'all-in-one';

interface LinkBase {
  readonly name: string;
  /** Its network in the inventory; null for a link that only carries others. */
  readonly network: ObjectName | null;
  /** `provisioning` is the network that it was installed over. */
  readonly purpose: 'provisioning' | 'production' | 'other';
  readonly mtu: number | null;
  /** Null: no address. `dhcp`: assigned by DHCP. */
  readonly address: { readonly ip: Ipv4; readonly prefix: Prefix } | 'dhcp' | null;
  readonly routes: readonly Route[];
}

export interface EthernetLink extends LinkBase {
  readonly kind: 'ethernet';
  readonly mac: Mac | null;
}

export interface BondLink extends LinkBase {
  readonly kind: 'bond';
  readonly mode: BondMode;
  /** Names of ethernet links, in order. */
  readonly members: readonly string[];
}

export interface VlanLink extends LinkBase {
  readonly kind: 'vlan';
  readonly id: number;
  readonly parent: string;
}

/** A carrier comes before the links on it. */
export type PlannedLink = EthernetLink | BondLink | VlanLink;

export interface ClusterMember {
  readonly hostname: Hostname;
  readonly fqdn: string;
  /** On the cluster's network. */
  readonly address: Ipv4;
  readonly role: NodeRole;
}

export interface ClusterPlan {
  readonly name: ObjectName;
  readonly network: ObjectName;
  readonly prefix: Prefix;
  readonly vip: Ipv4 | null;
  /** `bootstrap`: this node is one of the members that form the cluster; `join`: it joins them. */
  readonly mode: 'bootstrap' | 'join';
  /** This node as a member. */
  readonly self: ClusterMember;
  /** The first bootstrap member, through which others join. */
  readonly leader: ClusterMember;
  /** The members that form the cluster, in inventory order. */
  readonly bootstrap: readonly ClusterMember[];
  /** All members, by host name. */
  readonly members: readonly ClusterMember[];
}

export interface NodePlan {
  readonly id: MachineId;
  readonly hostname: Hostname;
  readonly domain: DomainName | null;
  /** The host name alone if there is no domain. */
  readonly fqdn: string;
  readonly site: ObjectName | null;
  readonly region: string | null;
  /** The declared revision of the inventory that this was planned from. */
  readonly inventoryRevision: number;
  readonly architecture: CpuArchitecture;
  readonly secureBoot: boolean;
  readonly profile: {
    readonly name: ObjectName;
    readonly kind: ProfileKind;
    readonly role: NodeRole | null;
    readonly image: DiskImage | null;
  };
  readonly links: readonly PlannedLink[];
  /** The default gateway: that of the production network, if it has one. */
  readonly gateway: Ipv4 | null;
  readonly nameservers: readonly Ipv4[];
  readonly searchDomains: readonly DomainName[];
  /** Null: the profile writes a whole image with its own layout. */
  readonly storage: Storage | null;
  readonly accounts: readonly Account[];
  readonly timeZone: string;
  readonly ntpServers: readonly string[];
  readonly locale: string;
  readonly keyboard: string;
  readonly packages: readonly string[];
  readonly kernelParameters: readonly string[];
  /** NixOS: the release whose defaults its data was created with. */
  readonly stateVersion: string;
  /** How secrets reach a NixOS node: as files beside the configuration, or encrypted with sops-nix. */
  readonly secretsBy: 'files' | 'sops';
  readonly cluster: ClusterPlan | null;
  /** Empty unless the profile enables RoCE and links are assigned to the node. */
  readonly roce: readonly RoceLink[];
  readonly siteBootstrap: SiteBootstrap | null;
  /** Null: neither the node nor its profile declares it. */
  readonly enrollment: EnrollmentMode | null;
  readonly labels: Readonly<Record<string, string>>;
}
