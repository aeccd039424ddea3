// Inlines bootstrap scripts. The script of a site or a profile is a file next to the inventory file that references it. Both are read
// together, so that later steps have the script text, and the API cannot be used to read files of the appliance.

import { dirname, resolve } from 'node:path';
import { readText } from '../documents/document.ts';

const MAX_SCRIPT_BYTES = 64 * 1024;

type Mapping = Readonly<Record<string, unknown>>;

export interface InlinedScripts {
  readonly value: unknown;
  /** The script files that were read. */
  readonly scripts: readonly string[];
  readonly problems: readonly string[];
}

/** Who may have a script. */
const OWNERS = ['sites', 'profiles'] as const;

/** `file` is the file of `document`; paths in it are relative to its folder. */
export async function inlineScripts(document: unknown, file: string): Promise<InlinedScripts> {
  if (!isMapping(document)) return { value: document, scripts: [], problems: [] };
  const scripts: string[] = [];
  const problems: string[] = [];
  const lists: Record<string, readonly unknown[]> = {};
  for (const owners of OWNERS) {
    const list = document[owners];
    if (!Array.isArray(list)) continue;
    const inlined: unknown[] = [];
    for (const [at, owner] of list.entries()) {
      const read = await inlineScript(owner, `${file}: ${owners}[${at}].bootstrap`, dirname(file));
      inlined.push(read.value);
      scripts.push(...read.scripts);
      problems.push(...read.problems);
    }
    lists[owners] = inlined;
  }
  return { value: { ...document, ...lists }, scripts, problems };
}

async function inlineScript(owner: unknown, field: string, folder: string): Promise<InlinedScripts> {
  const bootstrap: unknown = isMapping(owner) ? owner.bootstrap : undefined;
  if (!isMapping(owner) || !isMapping(bootstrap) || typeof bootstrap.script_file !== 'string') {
    return { value: owner, scripts: [], problems: [] };
  }
  const { script_file: path, ...rest } = bootstrap;
  const script = resolve(folder, path);
  const text = await readText(script, MAX_SCRIPT_BYTES);
  return {
    value: { ...owner, bootstrap: { ...rest, script: text } },
    scripts: [script],
    problems: [
      ...(Object.hasOwn(rest, 'script') ? [`${field}: has both script and script_file`] : []),
      ...(typeof text === 'string' ? [] : [`${field}.script_file: ${path}: ${text.problem}`]),
    ],
  };
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
