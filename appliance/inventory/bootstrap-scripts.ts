// A site's bootstrap script is a file beside the inventory file that names it. Whoever reads the one reads the other: what
// goes on from there has the script itself, and nobody else's files can be asked for over the API.

import { dirname, resolve } from 'node:path';
import { readText } from '../documents/document.ts';

const LARGEST_SCRIPT = 64 * 1024;

type Mapping = Readonly<Record<string, unknown>>;

export interface WithScripts {
  readonly value: unknown;
  /** The files that were read for it. */
  readonly scripts: readonly string[];
  readonly problems: readonly string[];
}

/** `file` is where `document` comes from; paths in it start at its folder. */
export async function withScripts(document: unknown, file: string): Promise<WithScripts> {
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
    const text = await readText(script, LARGEST_SCRIPT);
    if (typeof text !== 'string') problems.push(`${field}.script_file: ${path}: ${text.problem}`);
    scripts.push(script);
    inlined.push({ ...site, bootstrap: { ...rest, script: text } });
  }
  return { value: { ...document, sites: inlined }, scripts, problems };
}

const isMapping = (value: unknown): value is Mapping =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
