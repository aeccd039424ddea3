// Inlines bootstrap scripts. A site's script is a file next to the inventory file that references it. Both are read together, so
// that later steps have the script text, and the API cannot be used to read files of the appliance.

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

/** `file` is the file of `document`; paths in it are relative to its folder. */
export async function inlineScripts(document: unknown, file: string): Promise<InlinedScripts> {
  const sites = isMapping(document) ? document.sites : undefined;
  if (!isMapping(document) || !Array.isArray(sites)) return { value: document, scripts: [], problems: [] };
  const scripts: string[] = [];
  const problems: string[] = [];
  const inlined: unknown[] = [];
  for (const [at, site] of sites.entries()) {
    const bootstrap: unknown = isMapping(site) ? site.bootstrap : undefined;
    if (!isMapping(site) || !isMapping(bootstrap) || typeof bootstrap.script_file !== 'string') {
      inlined.push(site);
      continue;
    }
    const { script_file: path, ...rest } = bootstrap;
    const field = `${file}: sites[${at}].bootstrap`;
    if (Object.hasOwn(rest, 'script')) problems.push(`${field}: has both script and script_file`);
    const script = resolve(dirname(file), path);
    const text = await readText(script, MAX_SCRIPT_BYTES);
    if (typeof text !== 'string') problems.push(`${field}.script_file: ${path}: ${text.problem}`);
    scripts.push(script);
    inlined.push({ ...site, bootstrap: { ...rest, script: text } });
  }
  return { value: { ...document, sites: inlined }, scripts, problems };
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
