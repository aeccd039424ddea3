// The hardware that a node is bound to: recorded when it is commissioned, compared whenever its machine opens a session. MAC,
// UUID and serial number are what a machine says; only the TPM proves anything.

import type { ChassisUuid } from './chassis.ts';
import type { ErasureRecord } from './erasure.ts';
import type { Instant } from './instant.ts';
import type { Mac } from './mac.ts';
import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

/** SHA-256 of a TPM's public endorsement key (SubjectPublicKeyInfo), in hexadecimal digits. */
export type EkFingerprint = Branded<string, 'EkFingerprint'>;

export function parseEkFingerprint(text: string): Parsed<EkFingerprint> {
  const digits = text
    .toLowerCase()
    .replace(/^sha256:/, '')
    .replaceAll(':', '');
  return /^[0-9a-f]{64}$/.test(digits)
    ? parsed(digits as EkFingerprint)
    : unparsable(`not the SHA-256 of a TPM's public endorsement key (64 hexadecimal digits): ${shown(text)}`);
}

/** What an installation requires; each is stronger than the one before. */
export const REQUIRED_IDENTITIES = ['asserted', 'bound', 'media', 'tpm'] as const;
export type RequiredIdentity = (typeof REQUIRED_IDENTITIES)[number];

/**
 * How the identity of a session was established.
 *   asserted  the machine says its MAC, UUID and serial number
 *   bound     they are those that were recorded at commissioning
 *   media     it has the one-time secret that its BMC was given on a medium; recorded hardware does not differ
 *   tpm       its TPM, which a person, the inventory or a vendor vouches for, opened the session key
 */
export const IDENTITY_LEVELS = ['asserted', 'bound', 'media', 'tpm'] as const;
export type IdentityLevel = (typeof IDENTITY_LEVELS)[number];

export const isAtLeast = (level: IdentityLevel, required: RequiredIdentity): boolean =>
  IDENTITY_LEVELS.indexOf(level) >= IDENTITY_LEVELS.indexOf(required);

/** Who vouches for a TPM. `nobody`: it was seen once and waits for a person to accept it. */
export type TpmTrust = 'declared' | 'vendor' | 'accepted' | 'nobody';

/** SHA-256 bank, by index. */
export type PcrValues = Readonly<Record<string, string>>;

export interface ShownTpm {
  readonly eks: readonly EkFingerprint[];
  /** The vendor's authority that signed an endorsement key certificate; null: none that this site trusts. */
  readonly issuer: string | null;
  /** PCR 0 to 7 of this boot; null: no valid quote. */
  readonly pcrs: PcrValues | null;
}

/** What a machine shows when it opens a session. */
export interface ShownHardware {
  readonly uuid: ChassisUuid | null;
  readonly serial: string | null;
  readonly macs: readonly Mac[];
  readonly tpm: ShownTpm | null;
  /** Why the TPM could not be used; null: it could, or there is none. */
  readonly tpmProblem: string | null;
  /** It has the secret of the medium of this boot. */
  readonly medium?: boolean;
}

export interface BoundTpm extends ShownTpm {
  readonly trust: TpmTrust;
}

export interface BoundHardware {
  readonly uuid: ChassisUuid | null;
  readonly serial: string | null;
  readonly macs: readonly Mac[];
  readonly tpm: BoundTpm | null;
  /** It has shown the secret of a medium once: from then on, one that its BMC has read must be shown. */
  readonly medium?: boolean;
  readonly boundAt: Instant;
}

export interface HardwareDifference {
  readonly field: 'uuid' | 'serial' | 'mac' | 'tpm' | 'medium';
  readonly recorded: string;
  readonly found: string;
}

/** What is stored of a machine. */
export interface HardwareRecord {
  /** Null: never commissioned. */
  readonly bound: BoundHardware | null;
  /** The hardware that was shown last and was refused; `rebind` accepts it. Null: there is none. */
  readonly refused: (Omit<BoundHardware, 'boundAt'> & { readonly at: Instant }) | null;
  /** The last erasure of its disks. Absent: none was recorded. */
  readonly erasure?: ErasureRecord;
  /** It was released, and its disks keep their data: nothing is deployed to it until they are erased. Absent: not so. */
  readonly unerased?: { readonly at: Instant; readonly reason: string };
  /** The machine in MAAS that it is. Absent: MAAS does not provision it. */
  readonly maas?: { readonly systemId: string; readonly since: Instant };
}

export const NO_HARDWARE: HardwareRecord = { bound: null, refused: null };

const NONE = 'none';

/** Empty: it is the recorded hardware. New cards are no difference; a missing one is. */
export function hardwareDifferences(bound: BoundHardware, found: ShownHardware): HardwareDifference[] {
  const differences: HardwareDifference[] = [];
  const compare = (field: 'uuid' | 'serial', recorded: string | null, now: string | null): void => {
    if (recorded !== null && recorded !== now) differences.push({ field, recorded, found: now ?? NONE });
  };
  compare('uuid', bound.uuid, found.uuid);
  compare('serial', bound.serial, found.serial);
  const missing = bound.macs.filter((mac) => !found.macs.includes(mac));
  if (missing.length > 0) {
    differences.push({ field: 'mac', recorded: missing.join(', '), found: found.macs.join(', ') || NONE });
  }
  return [...differences, ...tpmDifference(bound.tpm, found)];
}

/** A TPM has one identity, however many endorsement keys it shows. */
function tpmDifference(bound: BoundTpm | null, { tpm, tpmProblem }: ShownHardware): HardwareDifference[] {
  if (bound === null || tpm?.eks.some((ek) => bound.eks.includes(ek))) return [];
  const found = tpm === null ? `${NONE}${tpmProblem === null ? '' : ` (${tpmProblem})`}` : ekText(tpm.eks);
  return [{ field: 'tpm', recorded: ekText(bound.eks), found }];
}

const FIELD_NAMES = {
  uuid: 'chassis UUID',
  serial: 'serial number',
  mac: 'network card',
  tpm: 'TPM',
  medium: 'medium of its BMC',
} as const satisfies Record<HardwareDifference['field'], string>;

export const differencesText = (differences: readonly HardwareDifference[]): string =>
  differences.map(({ field, recorded, found }) => `${FIELD_NAMES[field]} ${found} instead of ${recorded}`).join('; ');

/** Enough of a fingerprint to compare by eye. */
export const ekText = (eks: readonly EkFingerprint[]): string => eks.map((ek) => `${ek.slice(0, 16)}…`).join(', ');

/** The indexes whose values differ; an index that one side lacks differs too. */
export function changedPcrs(before: PcrValues, after: PcrValues): number[] {
  const indexes = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...indexes]
    .filter((index) => before[index] !== after[index])
    .map(Number)
    .sort((one, other) => one - other);
}

/** What the identity of a node rests on, for people. */
export function boundText(bound: BoundHardware | null): string {
  if (bound === null) return 'asserted: its hardware was not recorded yet; commission it';
  const { tpm } = bound;
  if (tpm === null && bound.medium === true)
    return 'bound to its hardware, and to its BMC, whose medium it has shown; it has shown no TPM';
  if (tpm === null) return 'bound to its hardware: UUID, serial number and network cards; it has shown no TPM';
  switch (tpm.trust) {
    case 'declared':
      return `TPM ${ekText(tpm.eks)}, declared in the inventory`;
    case 'vendor':
      return `TPM ${ekText(tpm.eks)}, signed by its vendor (${tpm.issuer ?? 'unknown'})`;
    case 'accepted':
      return `TPM ${ekText(tpm.eks)}, accepted by a person`;
    case 'nobody':
      return `bound to its hardware; TPM ${ekText(tpm.eks)} was seen, but nobody accepted it: coldiron nodes rebind`;
  }
}

/** The strongest level that a session of this machine can reach. */
export const levelOf = (bound: BoundHardware | null): IdentityLevel => {
  if (bound === null) return 'asserted';
  if (bound.tpm !== null && bound.tpm.trust !== 'nobody') return 'tpm';
  return bound.tpm === null && bound.medium === true ? 'media' : 'bound';
};

/** The record of a machine that has shown this hardware in a session. */
export function bindHardware(
  found: ShownHardware,
  declared: readonly EkFingerprint[],
  before: BoundHardware | null,
  at: Instant,
): BoundHardware {
  const { uuid, serial, macs, tpm } = found;
  return {
    uuid,
    serial,
    macs,
    tpm: tpm && { ...tpm, trust: tpmTrust(tpm, declared, before?.tpm ?? null) },
    ...(found.medium === true || before?.medium === true ? { medium: true } : {}),
    boundAt: at,
  };
}

function tpmTrust(tpm: ShownTpm, declared: readonly EkFingerprint[], before: BoundTpm | null): TpmTrust {
  if (tpm.eks.some((ek) => declared.includes(ek))) return 'declared';
  if (tpm.issuer !== null) return 'vendor';
  const same = before?.eks.some((ek) => tpm.eks.includes(ek)) === true;
  return same && before?.trust === 'accepted' ? 'accepted' : 'nobody';
}
