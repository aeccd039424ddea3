// What is remembered about BMCs: how to get in, what they are trusted by, and what has worked with their kind.

import type { NewAuditEntry } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { MachineId } from '../domain/machine.ts';
import type { SealedText } from '../domain/sealed-text.ts';

/** Who we are to one BMC. The secrets were sealed before they came here; the store cannot look inside. */
export interface SealedCredentials {
  readonly username: string;
  readonly password: SealedText;
  /** The BMC key (Kg) of IPMI; null: none. */
  readonly key: SealedText | null;
  readonly setAt: Instant;
}

export interface HeldCredentials {
  readonly current: SealedCredentials | null;
  /** Written down before the BMC is told: after a crash in between, either one may be good. */
  readonly pending: SealedCredentials | null;
}

export interface BmcPlace {
  readonly address: Ipv4;
  /** SHA-256 of the certificate that was seen first; null: none was seen. */
  readonly certificate: string | null;
  /** The cipher suite that the last login came to; null: unknown. */
  readonly suite: number | null;
}

/** BMCs of one kind behave alike. */
export interface BmcKind {
  readonly vendor: string;
  readonly product: string;
  readonly firmware: string;
}

/** How often a way to set the boot device was obeyed, and how often accepted and ignored. */
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

/** A boot override that lasts for every start, set by the appliance and not undone yet. One for each machine. */
export interface PersistentBootOverride {
  readonly machine: MachineId;
  /** The name of a `BootMethod`. */
  readonly method: string;
  readonly setAt: Instant;
}

/** How many boots of a machine are remembered: enough for a median that one odd boot does not move. */
export const REMEMBERED_BOOTS = 9;

/** Each verb is one transaction, as `store.ts` promises. Writes of credentials are audited, without the secrets. */
export interface BmcStore {
  bmcCredentials(machine: MachineId): Promise<HeldCredentials>;
  /** Of every machine that has some. */
  allBmcCredentials(): Promise<{ machine: MachineId; held: HeldCredentials }[]>;
  /** From now on these are the current ones, and nothing is pending. */
  setBmcCredentials(machine: MachineId, credentials: SealedCredentials, audit: NewAuditEntry): Promise<void>;
  /** Beside the current ones, in place of any that were pending before. */
  setPendingBmcCredentials(machine: MachineId, credentials: SealedCredentials, audit: NewAuditEntry): Promise<void>;
  /** The pending ones become the current ones. False, and no audit, when there are none. */
  confirmPendingBmcCredentials(machine: MachineId, audit: NewAuditEntry): Promise<boolean>;
  dropPendingBmcCredentials(machine: MachineId, audit: NewAuditEntry): Promise<boolean>;
  /** The same secrets under another key. Whatever was changed since it was read stays as it is. */
  resealBmcCredentials(machine: MachineId, before: HeldCredentials, after: HeldCredentials): Promise<void>;

  bmcPlaces(): Promise<BmcPlace[]>;
  rememberBmcSuite(address: Ipv4, suite: number): Promise<void>;
  /** The first certificate of an address stays: false when another one is pinned already. */
  pinBmcCertificate(address: Ipv4, certificate: string): Promise<boolean>;
  /** False, and no audit, when none was pinned. */
  forgetBmcCertificate(address: Ipv4, audit: NewAuditEntry): Promise<boolean>;

  /** By vendor, product, firmware and method. */
  bmcQuirks(): Promise<BmcQuirk[]>;
  countBoot(outcome: BootOutcome): Promise<void>;

  /** Milliseconds from power to the first DHCP packet, the newest last, at most `REMEMBERED_BOOTS`. */
  bootTimes(machine: MachineId): Promise<number[]>;
  addBootTime(machine: MachineId, took: number): Promise<void>;

  /** The oldest first. */
  persistentBootOverrides(): Promise<PersistentBootOverride[]>;
  /** In place of an earlier one of the machine. */
  setPersistentBootOverride(override: PersistentBootOverride): Promise<void>;
  /** Nothing happens where there is none. */
  deletePersistentBootOverride(machine: MachineId): Promise<void>;
}
