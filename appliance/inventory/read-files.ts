// Reads inventory files from disk; each is a source named after its file.

import { basename, extname } from 'node:path';
import { readDocument } from '../documents/document.ts';
import { ColdironError } from '../domain/errors.ts';
import { parseObjectName } from '../domain/names.ts';
import { inlineScripts } from './bootstrap-scripts.ts';

/** One parsed document. Objects keep the name of their source: it decides which objects a later apply may remove. */
export interface RawSource {
  /** The path as given, for messages. */
  readonly file: string;
  readonly name: string;
  readonly value: unknown;
  /** Script files whose text was inlined into `value`. */
  readonly scripts?: readonly string[];
}

/** Sources that are not files; a file of the same name would take over their objects. */
export const RESERVED_SOURCES = new Map([
  ['api', 'objects that are added over the API'],
  ['network', 'discovered machines'],
  ['site', 'objects that coldiron.yaml declares'],
]);

/** Reads all files; the error `invalid_inventory` lists every file that cannot be used. */
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
    const { value, scripts, problems: unreadable } = await inlineScripts(document.value, file);
    problems.push(...unreadable);
    sources.push({ file, name, value, scripts });
  }
  if (problems.length > 0) throw new ColdironError('invalid_inventory', 'the inventory cannot be read', problems);
  return sources;
}

function nameProblem(name: string, earlier: string | undefined): string | null {
  if (earlier !== undefined) return `has the same source name as ${earlier}: rename one of the files`;
  const reserved = RESERVED_SOURCES.get(name);
  if (reserved) return `rename the file: "${name}" is reserved for ${reserved}`;
  const parsed = parseObjectName(name);
  return parsed.ok ? null : `rename the file: ${parsed.reason}`;
}
