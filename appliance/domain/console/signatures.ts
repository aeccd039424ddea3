// The table of known lines on consoles, and the search in it. Rows are tried in order, the most specific first.

import { FIRMWARE_SIGNATURES } from './firmware-signatures.ts';
import { KERNEL_SIGNATURES } from './kernel-signatures.ts';
import { LOADER_SIGNATURES } from './loader-signatures.ts';
import type { ConsoleSignature } from './signature.ts';
import { SYSTEM_SIGNATURES } from './system-signatures.ts';

export const CONSOLE_SIGNATURES: readonly ConsoleSignature[] = [
  ...FIRMWARE_SIGNATURES,
  ...LOADER_SIGNATURES,
  ...SYSTEM_SIGNATURES,
  ...KERNEL_SIGNATURES,
];

/** Only this much of a line is searched. */
const SEARCHED = 1024;

const escaped = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

const byId = new Map(CONSOLE_SIGNATURES.map((signature) => [signature.id, signature]));

/** One pass that most lines do not survive. */
const ANY = new RegExp([...new Set(CONSOLE_SIGNATURES.map(({ has }) => escaped(has)))].join('|'));

/** The first row that matches; null: nothing known. `line` is clean: no control characters. */
export function consoleSignature(line: string): ConsoleSignature | null {
  const searched = line.length > SEARCHED ? line.slice(0, SEARCHED) : line;
  if (!ANY.test(searched)) return null;
  return CONSOLE_SIGNATURES.find(({ has, pattern }) => searched.includes(has) && pattern.test(searched)) ?? null;
}

/** What a match means, for people. Null: another version of this program knew the id. */
export const consoleMeaning = (id: string): Omit<ConsoleSignature, 'pattern' | 'has'> | null => byId.get(id) ?? null;
