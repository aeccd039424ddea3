// The erasure of a machine's disks, and samples that a later boot reads to verify it. The appliance chooses the places, anew for
// each session: whoever erased the disks could not know them.

import type { IdentityLevel } from './hardware-identity.ts';
import type { Instant } from './instant.ts';
import type { SessionMode } from './session.ts';

export interface ErasedDisk {
  readonly name: string;
  readonly serial: string | null;
  readonly bytes: number;
  /** In the words of the service OS: "discarded", "overwritten with zeros". */
  readonly method: string;
}

/** Which session said so, and how its identity was established. */
interface SaidBy {
  readonly at: Instant;
  readonly session: string;
  readonly identity: IdentityLevel | null;
}

/**
 *   empty       every sample of every disk was read, and holds only zeros
 *   not-empty   a sample holds data
 *   incomplete  a disk is missing, cannot be read, or there was not enough time
 */
export const ERASURE_RESULTS = ['empty', 'not-empty', 'incomplete'] as const;
export type ErasureResult = (typeof ERASURE_RESULTS)[number];

export interface ErasureCheck extends SaidBy {
  readonly mode: SessionMode;
  readonly result: ErasureResult;
  /** How much was read. */
  readonly bytes: number;
  /** One sentence each; empty: none. */
  readonly problems: readonly string[];
}

export interface ErasureRecord extends SaidBy {
  readonly disks: readonly ErasedDisk[];
  /** The newest; null: not verified yet. */
  readonly check: ErasureCheck | null;
  /** Since then a session may have written to the disks, so there is nothing to verify. Null: none has. */
  readonly overwrittenAt: Instant | null;
}

/** Offset and length in bytes. */
export type Sample = readonly [offset: number, length: number];

export interface SampledDisk extends Omit<ErasedDisk, 'method'> {
  readonly samples: readonly Sample[];
}

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;
const BLOCK = 64 * KIB;
/** Of one disk, and of all disks together: a sample is a seek of a disk drive, and all must take seconds. */
const MOST_OF_A_DISK = 64;
const MOST_OF_ALL = 512;
const LEAST_OF_A_DISK = 4;
/** A first partition begins at 1 MiB. Copies of the superblock of btrfs are at 64 MiB and 256 GiB. */
const START = 2 * MIB;
const KNOWN_PLACES = [64 * MIB, 256 * GIB];
const END = MIB;

/** The random bytes of one place: enough for the largest disk that a number can describe. */
const RANDOM_BYTES = 6;

/** The start and the end of each disk, places of well-known metadata, and random blocks. */
export function erasureSamples(disks: readonly ErasedDisk[], random: (size: number) => Buffer): SampledDisk[] {
  const share = Math.floor(MOST_OF_ALL / Math.max(1, disks.length));
  const count = Math.min(MOST_OF_A_DISK, Math.max(LEAST_OF_A_DISK, share));
  return disks.map(({ name, serial, bytes }) => ({ name, serial, bytes, samples: samplesOf(bytes, count, random) }));
}

function samplesOf(bytes: number, count: number, random: (size: number) => Buffer): Sample[] {
  const start = Math.min(START, bytes);
  const end = Math.max(start, bytes - END);
  const fixed: Sample[] = [[0, start], ...(end < bytes ? [[end, bytes - end] as const] : [])];
  const blocks = Math.floor((end - start) / BLOCK);
  if (blocks <= 0) return fixed.filter(([, length]) => length > 0);
  const known = KNOWN_PLACES.filter((place) => place >= start && place + BLOCK <= end);
  const drawn = Array.from({ length: count }, () => {
    const number = random(RANDOM_BYTES).readUIntBE(0, RANDOM_BYTES);
    return start + (number % blocks) * BLOCK;
  });
  const places = [...new Set([...known, ...drawn])].sort((one, other) => one - other);
  return [...fixed, ...places.map((place): Sample => [place, BLOCK])];
}

export const sampledBytes = ({ samples }: Pick<SampledDisk, 'samples'>): number =>
  samples.reduce((sum, [, length]) => sum + length, 0);

/** What the service OS found on one disk of the order, by its place in the order. */
export interface SampledState {
  readonly disk: number;
  readonly state: 'empty' | 'not-empty' | 'unreadable' | 'missing' | 'out-of-time';
  readonly bytes: number;
  /** Where data was found, or what could not be read. */
  readonly offset: number | null;
}

/** A disk that is not reported was not read. */
export function erasureVerdict(
  disks: readonly SampledDisk[],
  found: readonly SampledState[],
): Pick<ErasureCheck, 'result' | 'bytes' | 'problems'> {
  const states = disks.map((disk, index) => ({ disk, said: found.find((each) => each.disk === index) }));
  const problems = states.flatMap(({ disk, said }) => {
    const problem = sampleProblem(disk, said);
    return problem === null ? [] : [`${diskText(disk)} ${problem}`];
  });
  const isEmpty = problems.length === 0;
  const hasData = states.some(({ said }) => said?.state === 'not-empty');
  const bytes = states.reduce((sum, { disk, said }) => sum + Math.min(said?.bytes ?? 0, sampledBytes(disk)), 0);
  return { result: hasData ? 'not-empty' : isEmpty ? 'empty' : 'incomplete', bytes, problems };
}

function sampleProblem(disk: SampledDisk, said: SampledState | undefined): string | null {
  const at = said?.offset == null ? '' : ` at byte ${said.offset}`;
  switch (said?.state) {
    case 'not-empty':
      return `holds data${at}`;
    case 'unreadable':
      return `cannot be read${at}`;
    case 'missing':
      return 'is not in the machine';
    case 'empty':
      return said.bytes >= sampledBytes(disk) ? null : 'was not read completely';
    default:
      return 'was not read completely';
  }
}

const diskText = ({ name, serial }: Pick<ErasedDisk, 'name' | 'serial'>): string =>
  serial === null ? name : `${name} (serial ${serial})`;

/** The record must not be verified any more: a session begins that may write to the disks. */
export const writesDisks = (mode: SessionMode): boolean => mode === 'install' || mode === 'rescue' || mode === 'erase';

/** What there is to verify; null: no erasure, or its disks may have been written since. */
export const verifiable = (record: ErasureRecord | null): ErasureRecord | null =>
  record !== null && record.overwrittenAt === null && record.check?.result !== 'not-empty' && record.disks.length > 0
    ? record
    : null;
