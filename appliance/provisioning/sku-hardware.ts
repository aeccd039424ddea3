// The facts of a machine compared with the minimum of its SKU. What a machine did not report contradicts nothing.

import { bytesInWords } from '../domain/byte-size.ts';
import type { HardwareMinimum, Sku } from '../domain/catalogue.ts';
import type { Machine } from '../domain/machine.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { SessionStore } from '../store/session-store.ts';
import type { Contradiction } from './sessions/contradictions.ts';
import { type MachineFactsBody, readFacts } from './sessions/reports.ts';

export interface SkuHardwareDeps {
  readonly fleet: Pick<Fleet, 'sku'>;
  readonly store: Pick<SessionStore, 'factsOf'>;
}

/** Where the machine has less than its SKU requires. */
export function skuContradictions(sku: Sku | null, facts: MachineFactsBody): Contradiction[] {
  if (sku === null || sku.minimum === null) return [];
  const least = sku.minimum;
  const found: Contradiction[] = [];
  const compare = (
    field: string,
    wanted: number | null,
    seen: number | null | undefined,
    words: (value: number) => string = String,
  ): void => {
    if (wanted === null || seen === null || seen === undefined || seen >= wanted) return;
    found.push({ field: `sku.${field}`, declared: `at least ${words(wanted)} (SKU ${sku.name})`, found: words(seen) });
  };
  compare('cores', least.cores, facts.cpu?.cores);
  compare('threads', least.threads, facts.cpu?.threads);
  compare('memory', least.memoryBytes, facts.memory?.bytes, (bytes) => bytesInWords(bytes, 'binary'));
  return [...found, ...diskContradictions(sku, least, facts), ...nicContradictions(sku, least, facts)];
}

function diskContradictions(sku: Sku, least: HardwareMinimum, facts: MachineFactsBody): Contradiction[] {
  const { disks: count, diskBytes } = least;
  if (count === null && diskBytes === null) return [];
  const fixed = facts.disks.filter(({ removable, read_only: isReadOnly }) => removable !== true && isReadOnly !== true);
  const large = fixed.filter(({ bytes }) => bytes >= (diskBytes ?? 0));
  if (large.length >= (count ?? 1)) return [];
  const size = diskBytes === null ? '' : ` of at least ${bytesInWords(diskBytes)}`;
  return [
    {
      field: 'sku.disks',
      declared: `${count ?? 1}${size} (SKU ${sku.name})`,
      found: fixed.length === 0 ? 'none' : fixed.map(({ bytes }) => bytesInWords(bytes)).join(', '),
    },
  ];
}

/** A card without a link does not know its speed. */
function nicContradictions(sku: Sku, least: HardwareMinimum, facts: MachineFactsBody): Contradiction[] {
  const { nics: count, nicMbps } = least;
  if (count === null && nicMbps === null) return [];
  const fast = facts.nics.filter(({ speed_mbps: speed }) => (speed ?? Number.POSITIVE_INFINITY) >= (nicMbps ?? 0));
  if (fast.length >= (count ?? 1)) return [];
  const speed = nicMbps === null ? '' : ` of at least ${nicMbps} Mbit/s`;
  const seen = facts.nics.map(({ speed_mbps: found }) => (found ? `${found} Mbit/s` : 'unknown speed'));
  return [
    {
      field: 'sku.nics',
      declared: `${count ?? 1}${speed} (SKU ${sku.name})`,
      found: seen.length === 0 ? 'none' : seen.join(', '),
    },
  ];
}

/** Why a SKU that requires its minimum does not permit the machine. */
export const requiredHardware = (sku: Sku | null, facts: MachineFactsBody): string[] =>
  sku?.hardware !== 'require'
    ? []
    : skuContradictions(sku, facts).map(
        ({ field, declared, found }) => `${field.slice(4)}: ${declared}, found ${found}`,
      );

/** By the last report of the machine. */
export async function skuProblemsOf({ fleet, store }: SkuHardwareDeps, { id, spec }: Machine): Promise<string[]> {
  const sku = spec.sku === null ? null : fleet.sku(spec.sku);
  const [newest] = await store.factsOf(id);
  if (!newest) return [];
  const problems = requiredHardware(sku, readFacts(newest.facts));
  return problems.map(
    (problem) => `it has less than its SKU requires (hardware: require): ${problem}; then commission it again`,
  );
}
