// Records which boot methods worked for BMCs of one kind, so that the next machine of that kind tries them first.

import type { BmcIdentity } from './bmc.ts';

export type BmcKind = Pick<BmcIdentity, 'vendor' | 'product' | 'firmware'>;

/** Method names are those of boot-methods.ts. */
export interface QuirkLedger {
  /** The method to try first; null: no method has worked yet. */
  best(kind: BmcKind): Promise<string | null>;
  worked(kind: BmcKind, method: string, took: number): Promise<void>;
  /** The BMC accepted the setting, and the firmware ignored it. */
  ignored(kind: BmcKind, method: string): Promise<void>;
}

interface Tally {
  worked: number;
  ignored: number;
}

/** In memory, for one process. */
export function memoryLedger(): QuirkLedger {
  const tallies = new Map<string, Map<string, Tally>>();
  const methodsOf = ({ vendor, product, firmware }: BmcKind): Map<string, Tally> => {
    const key = JSON.stringify([vendor, product, firmware]);
    const methods = tallies.get(key) ?? new Map<string, Tally>();
    tallies.set(key, methods);
    return methods;
  };
  const count = (kind: BmcKind, method: string, outcome: keyof Tally): void => {
    const methods = methodsOf(kind);
    const tally = methods.get(method) ?? { worked: 0, ignored: 0 };
    tally[outcome] += 1;
    methods.set(method, tally);
  };
  return {
    best: async (kind) => bestOf([...methodsOf(kind)].map(([method, tally]) => ({ method, ...tally }))),
    worked: async (kind, method) => count(kind, method, 'worked'),
    ignored: async (kind, method) => count(kind, method, 'ignored'),
  };
}

/** The method with the highest success rate; among equals the one with more successes. */
export function bestOf(
  tallies: readonly { readonly method: string; readonly worked: number; readonly ignored: number }[],
): string | null {
  const rate = ({ worked, ignored }: Tally): number => worked / (worked + ignored);
  const [best] = tallies
    .filter(({ worked }) => worked > 0)
    .sort((a, b) => rate(b) - rate(a) || b.worked - a.worked || a.method.localeCompare(b.method));
  return best?.method ?? null;
}
