// What is wrong with the appliance itself: its files, disk, store, listeners, networks, clock, certificates and receivers of events. The list is closed, so
// that a reader can handle each kind. `appliance/self-check/` finds the problems.

import type { Instant } from './instant.ts';
import type { Ipv4 } from './ipv4.ts';
import type { Mac } from './mac.ts';

interface Problem<Id extends string> {
  readonly id: Id;
  /** The file, listener, network or path. `id` and `subject` together are unique among the current problems. */
  readonly subject: string;
  readonly since: Instant;
  /** One sentence. */
  readonly words: string;
  /** A command that works as typed, from any folder. */
  readonly nextStep: string;
}

/** `subject`: the name of the file in the library. */
export interface BootFileProblem extends Problem<'boot-file-damaged' | 'boot-file-missing'> {
  /** `loader`, `service OS`, `image`, `installer of worker`. */
  readonly what: string;
  /** Machines of these architectures cannot boot without it: codes of DHCP option 93 for loaders, otherwise processors. Empty: unknown. */
  readonly architectures: readonly string[];
}

/** `subject`: the folder. `disk-full`: nothing can be written; `disk-low`: that is near. */
export interface DiskProblem extends Problem<'disk-full' | 'disk-low'> {
  readonly freeBytes: number;
}

/** `subject`: the file of the store. Its last write failed. */
export interface StoreProblem extends Problem<'store-failing'> {
  readonly reason: string;
}

/** `subject`: such as `dhcp on eth1`. */
export interface ListenerProblem extends Problem<'listener-missing'> {
  readonly service: 'dhcp' | 'tftp' | 'http' | 'node';
  readonly networks: readonly string[];
  readonly reason: string;
}

/** `subject`: the network, and the address of the server. */
export interface OtherDhcpServerProblem extends Problem<'other-dhcp-server'> {
  readonly network: string;
  readonly address: Ipv4;
  /** As seen in the neighbour table; null: not seen there. */
  readonly mac: Mac | null;
}

/** `subject`: `clock`. */
export interface ClockProblem extends Problem<'clock-wrong' | 'clock-stepped'> {
  /** How far it is off, or has stepped, at least; positive: it is ahead. */
  readonly seconds: number;
}

/** `subject`: `node API`, `management API`. */
export interface CertificateProblem extends Problem<'certificate-expiring' | 'certificate-expired'> {
  readonly notAfter: Instant;
}

/** `subject`: the name of the receiver in the site file. Events wait for it. */
export interface ReceiverProblem extends Problem<'receiver-unreachable'> {
  readonly reason: string;
}

export type ApplianceProblem =
  | BootFileProblem
  | DiskProblem
  | StoreProblem
  | ListenerProblem
  | OtherDhcpServerProblem
  | ClockProblem
  | CertificateProblem
  | ReceiverProblem;

type WithoutSince<Each> = Each extends unknown ? Omit<Each, 'since'> : never;

/** A problem as it is found. Its beginning is known to the ledger. */
export type FoundProblem = WithoutSince<ApplianceProblem>;

export const problemKey = ({ id, subject }: Pick<FoundProblem, 'id' | 'subject'>): string => `${id} ${subject}`;

/** Problems that somebody should know of, while everything works. */
const WARNINGS: ReadonlySet<ApplianceProblem['id']> = new Set([
  'boot-file-missing',
  'disk-low',
  'clock-stepped',
  'certificate-expiring',
]);

/** Whether the appliance cannot do all of its work. */
export const degrades = ({ id }: Pick<ApplianceProblem, 'id'>): boolean => !WARNINGS.has(id);
