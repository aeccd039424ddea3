// An inventory file as the page reads it: YAML or JSON text, and the name of its source. Pure.

import { load } from 'js-yaml';

export type ReadFile =
  | { readonly ok: true; readonly name: string; readonly document: Record<string, unknown> }
  | { readonly ok: false; readonly problem: string };

/** The name of a source is the name of its file without the ending, as for `coldiron apply`. */
export const sourceName = (file: string): string => (file.split(/[\\/]/).at(-1) ?? '').replace(/\.[^.]*$/, '');

export function readDocument(file: string, text: string): ReadFile {
  const name = sourceName(file);
  if (name === '') return { ok: false, problem: 'Name the file: its name says which objects it owns.' };
  try {
    const value: unknown = load(text);
    if (value === null || typeof value !== 'object' || Array.isArray(value)) {
      return {
        ok: false,
        problem: 'The text has no sections. It must be a mapping, such as "nodes:" with a list below it.',
      };
    }
    return { ok: true, name, document: value as Record<string, unknown> };
  } catch (error) {
    return { ok: false, problem: `This is neither YAML nor JSON: ${(error as Error).message.split('\n')[0] ?? ''}` };
  }
}
