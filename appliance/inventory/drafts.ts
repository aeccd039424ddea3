// Drafts: objects of a file before all checks have passed, each with its place in the file. A field that could not be read is
// undefined: its problem has been reported, and later checks skip it.

import type { Cluster, HardwareMinimum, Profile, RoceAssignment, Sku } from '../domain/catalogue.ts';
import type { EkFingerprint } from '../domain/hardware-identity.ts';
import type { Ipv4, Ipv4Range, Prefix } from '../domain/ipv4.ts';
import type { BmcEndpoint, MachineBond, MachineInterface, MachineSpec, MachineVlan } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';
import type {
  Account,
  DiskImage,
  DiskSelector,
  RoceLink,
  Route,
  SiteBootstrap,
  Storage,
  SudoGrant,
} from '../domain/system.ts';
import type { SectionName } from './schema.ts';

export type Draft<T> = { readonly [Key in keyof T]: T[Key] | undefined };
export type Items<T> = readonly (T | undefined)[] | undefined;
type Maybe<T> = T | null | undefined;
/** A draft with fields that are drafts themselves. */
type DraftWith<T, Inner> = Draft<Omit<T, keyof Inner>> & Readonly<Inner>;

export type AccountDraft = DraftWith<Account, { sshKeys: Items<string>; sudo?: SudoGrant | null | undefined }>;
export type StorageDraft = DraftWith<Storage, { disks: Items<Draft<DiskSelector>> }>;
export type ImageDraft = Draft<DiskImage>;

export type SiteDraft = DraftWith<
  Site,
  { accounts: Items<AccountDraft>; bootstrap: Maybe<Draft<SiteBootstrap>>; inside: Items<Prefix> }
>;
export type NetworkDraft = DraftWith<
  SiteNetwork,
  { pools: Items<Draft<Ipv4Range>>; dns: Items<Ipv4>; routes: Items<Draft<Route>> }
>;
export type SkuDraft = DraftWith<Sku, { minimum: Maybe<Draft<HardwareMinimum>> }>;
export type ProfileDraft = DraftWith<
  Profile,
  {
    skus: Items<ObjectName>;
    accounts: Items<AccountDraft>;
    storage: Maybe<StorageDraft>;
    image: Maybe<ImageDraft>;
    bootstrap: Maybe<Draft<SiteBootstrap>>;
  }
>;
export type ClusterDraft = DraftWith<Cluster, { bootstrap: Items<string> }>;
export type RoceDraft = DraftWith<RoceAssignment, { links: Items<Draft<RoceLink>> }>;
export type NodeDraft = DraftWith<
  MachineSpec,
  {
    interfaces: Items<Draft<MachineInterface>>;
    bonds: Items<Draft<MachineBond>>;
    vlans: Items<Draft<MachineVlan>>;
    bmc: Maybe<Draft<BmcEndpoint>>;
    tpm: Items<EkFingerprint>;
    accounts: Items<AccountDraft>;
    storage: Maybe<StorageDraft>;
  }
>;

/** `nodes[2]` in a file, or a stored object of a source that is not being applied. */
export interface Place {
  readonly file: string;
  readonly path: string;
  readonly held: boolean;
  /** What to do about a conflict with it. */
  readonly advice?: string | null;
}

export interface Entry<T> {
  readonly at: Place;
  readonly draft: T;
}

export interface Drafts {
  readonly sites: readonly Entry<SiteDraft>[];
  readonly networks: readonly Entry<NetworkDraft>[];
  readonly skus: readonly Entry<SkuDraft>[];
  readonly profiles: readonly Entry<ProfileDraft>[];
  readonly clusters: readonly Entry<ClusterDraft>[];
  readonly roce: readonly Entry<RoceDraft>[];
  readonly nodes: readonly Entry<NodeDraft>[];
  /** Sections with an object that could not be read: a missing name may be the name of that object. */
  readonly incomplete: ReadonlySet<SectionName>;
}

type AnyLinkDraft = Draft<MachineInterface> | Draft<MachineBond> | Draft<MachineVlan>;

/** Every link of a node that could be read, with its field: `bonds[0]`. */
export function forEachLink(node: NodeDraft, visit: (link: AnyLinkDraft, field: string) => void): void {
  for (const list of LINK_LISTS) {
    const links = node[list] ?? [];
    for (let at = 0; at < links.length; at++) {
      const link = links[at];
      if (link) visit(link, FIRST_FIELDS[list][at] ?? `${list}[${at}]`);
    }
  }
}

const LINK_LISTS = ['interfaces', 'bonds', 'vlans'] as const;
/** Created once, because every check of every node uses them. */
const firstFields = (list: string): readonly string[] => Array.from({ length: 8 }, (_, at) => `${list}[${at}]`);
const FIRST_FIELDS = {
  interfaces: firstFields('interfaces'),
  bonds: firstFields('bonds'),
  vlans: firstFields('vlans'),
};

export const placeText = (at: Place, field = ''): string => `${at.file}: ${at.path}${field && `.${field}`}`;

/** All problems, in the order in which they were found. */
export class Findings {
  readonly problems: string[] = [];
  /** Valid input that should be changed. */
  readonly warnings: string[] = [];

  /**
   * `other` is the object that the field conflicts with. When both are already stored, the current apply does not cause the
   * problem, and it is not reported.
   */
  report(at: Place, field: string, message: string, other?: Place): void {
    if (at.held && (other === undefined || other.held)) return;
    const advice = at.advice ?? other?.advice;
    this.problems.push(`${placeText(at, field)}: ${message}${advice ? `; ${advice}` : ''}`);
  }

  warn(at: Place, field: string, message: string): void {
    if (!at.held) this.warnings.push(`${placeText(at, field)}: ${message}`);
  }
}
