// Inventory files from disk, each a source named after its file.

import { basename, extname } from 'node:path';
import { readDocument } from '../documents/document.ts';
import { ColdironError } from '../domain/errors.ts';
import { parseObjectName } from '../domain/names.ts';
import { withScripts } from './bootstrap-scripts.ts';

/** One document as it was read. Objects remember the source's name: it decides what a later apply may remove. */
export interface RawSource {
  /** For messages: the path as it was given. */
  readonly file: string;
  readonly name: string;
  readonly value: unknown;
  /** Files beside it that were read into its value. */
  readonly scripts?: readonly string[];
}

/** Sources that are no file, and would lose their objects to a file of the same name. */
export const TAKEN = new Map([
  ['api', 'what is added over the API'],
  ['network', 'machines that showed up by themselves'],
  ['site', 'what coldiron.yaml itself declares'],
]);

/** Reads them all; `invalid_inventory` lists every file that cannot be used. */
export async function readInventoryFiles(paths: readonly string[]): Promise<RawSource[]> {
  const sources: RawSource[] = [];
  const problems: string[] = [];
  const fileOf = new Map<string, string>();
  for (const file of paths) {
    const name = basename(file, extname(file));
    const problem = nameProblem(name, fileOf.get(name));
    fileOf.set(name, file);
    if (problem) {
      problems.push(`${file}: ${problem}`);
      continue;
    }
    const document = await readDocument(file);
    if (!document.ok) {
      problems.push(document.problem);
      continue;
    }
    const { value, scripts, problems: unreadable } = await withScripts(document.value, file);
    problems.push(...unreadable);
    sources.push({ file, name, value, scripts });
  }
  if (problems.length > 0) throw new ColdironError('invalid_inventory', 'the inventory cannot be read', problems);
  return sources;
}

function nameProblem(name: string, earlier: string | undefined): string | null {
  if (earlier !== undefined) return `has the same name as ${earlier}, and the name is what its objects are kept under`;
  const taken = TAKEN.get(name);
  if (taken) return `rename the file: "${name}" stands for ${taken}`;
  const parsed = parseObjectName(name);
  return parsed.ok ? null : `rename the file: ${parsed.reason}`;
}
