// Files of sections and `key=value` lines: systemd's network files and NetworkManager's keyfiles. All values were checked
// before; anything that could still end a line is rejected here.

import { ColdironError } from '../../domain/errors.ts';
import { lineProblem } from '../formats/plain-text.ts';

export type Entry = readonly [key: string, value: string | number];
export type Section = readonly [name: string, entries: readonly Entry[]];

/** Sections without entries are omitted. */
export function sectionsText(file: string, sections: readonly Section[]): string {
  const kept = sections.filter(([, entries]) => entries.length > 0);
  return kept
    .map(
      ([name, entries]) =>
        `[${name}]\n${entries.map(([key, value]) => `${key}=${checked(file, key, value)}\n`).join('')}`,
    )
    .join('\n');
}

function checked(file: string, key: string, value: string | number): string {
  const text = String(value);
  const problem = lineProblem(text);
  if (problem !== null) throw new ColdironError('invalid_inventory', `${key} in ${file} ${problem}`);
  return text;
}
