// Stored data about BMCs: credentials, pinned certificates, and which boot methods work with which model.

import type { NewAuditEntry } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { MachineId } from '../domain/machine.ts';
import type { SealedText } from '../domain/sealed-text.ts';

/** The login of one BMC. The vault seals the secrets; the store cannot read them. */
export interface SealedCredentials {
  readonly username: string;
  readonly password: SealedText;
  /** The BMC key (Kg) of IPMI; null: none. */
  readonly key: SealedText | null;
  readonly setAt: Instant;
}

export interface HeldCredentials {
  readonly current: SealedCredentials | null;
  /** Persisted before the password is set on the BMC: after a crash in between, either one may be valid. */
  readonly pending: SealedCredentials | null;
}

export interface BmcPlace {
  readonly address: Ipv4;
  /** SHA-256 of the pinned certificate, the first one seen; null: none. */
  readonly certificate: string | null;
  /** The cipher suite of the last login; null: unknown. */
  readonly suite: number | null;
}

/** BMCs with the same values behave alike. */
export interface BmcKind {
  readonly vendor: string;
  readonly product: string;
  readonly firmware: string;
}

/** How often a boot method worked, and how often the BMC accepted and ignored it. */
export interface BmcQuirk extends BmcKind {
  readonly method: string;
  readonly worked: number;
  readonly ignored: number;
  readonly lastAt: Instant;
}

export interface BootOutcome extends BmcKind {
  readonly method: string;
  readonly obeyed: boolean;
  readonly at: Instant;
}

/** A persistent boot override that the appliance set and has not undone yet. At most one per machine. */
export interface PersistentBootOverride {
  readonly machine: MachineId;
  /** The name of a `BootMethod`. */
  readonly method: string;
  readonly setAt: Instant;
}

/** How many boot times are kept per machine: enough that one outlier does not move the median. */
export const REMEMBERED_BOOTS = 9;

/** Each method is one transaction, as `store.ts` promises. Writes of credentials are audited, without the secrets. */
export interface BmcStore {
  bmcCredentials(machine: MachineId): Promise<HeldCredentials>;
  /** The credentials of every machine that has some. */
  allBmcCredentials(): Promise<{ machine: MachineId; held: HeldCredentials }[]>;
  /** Replaces the current credentials and deletes pending ones. */
  setBmcCredentials(machine: MachineId, credentials: SealedCredentials, audit: NewAuditEntry): Promise<void>;
  /** Replaces pending credentials; the current ones stay. */
  setPendingBmcCredentials(machine: MachineId, credentials: SealedCredentials, audit: NewAuditEntry): Promise<void>;
  /** Makes the pending credentials current. False, and no audit, if there are none. */
  confirmPendingBmcCredentials(machine: MachineId, audit: NewAuditEntry): Promise<boolean>;
  dropPendingBmcCredentials(machine: MachineId, audit: NewAuditEntry): Promise<boolean>;
  /** Replaces the sealed texts with `after`, unless they have changed since `before` was read. */
  resealBmcCredentials(machine: MachineId, before: HeldCredentials, after: HeldCredentials): Promise<void>;

  bmcPlaces(): Promise<BmcPlace[]>;
  rememberBmcSuite(address: Ipv4, suite: number): Promise<void>;
  /** Pins the first certificate of an address. False when another one is pinned. */
  pinBmcCertificate(address: Ipv4, certificate: string): Promise<boolean>;
  /** False, and no audit, if none is pinned. */
  forgetBmcCertificate(address: Ipv4, audit: NewAuditEntry): Promise<boolean>;

  /** Sorted by vendor, product, firmware and method. */
  bmcQuirks(): Promise<BmcQuirk[]>;
  countBoot(outcome: BootOutcome): Promise<void>;

  /** Milliseconds from power-on to the first DHCP packet, the newest last, at most `REMEMBERED_BOOTS`. */
  bootTimes(machine: MachineId): Promise<number[]>;
  addBootTime(machine: MachineId, took: number): Promise<void>;

  /** The oldest first. */
  persistentBootOverrides(): Promise<PersistentBootOverride[]>;
  /** Replaces an earlier one of the machine. */
  setPersistentBootOverride(override: PersistentBootOverride): Promise<void>;
  /** Does nothing if there is none. */
  deletePersistentBootOverride(machine: MachineId): Promise<void>;
}
