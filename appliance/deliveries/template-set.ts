// The templates in force: ours, with the operator's in the place of those of the same name. A set that does not render is never
// used; the last one that did stays, also over a restart.

import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../assets/template-files.ts';
import type { PlanIndex } from '../render/plan-index.ts';
import { compileTemplates, type TemplateSources, type Templates } from '../render/templates.ts';
import { readOverrides } from './read-overrides.ts';
import { type TemplateFinding, tryTemplates } from './try-templates.ts';

export interface TemplateSetDeps {
  /** The operator's folder; null: there is none. */
  readonly folder: string | null;
  /** Where the last good set is kept. */
  readonly state: string;
  readonly index: () => PlanIndex;
  readonly log: {
    info(about: object, message: string): void;
    error(about: object, message: string): void;
  };
}

export interface TemplateSet extends Templates {
  /** How many templates are the operator's. */
  readonly overridden: number;
  /** Looks at the folder again. Empty: what is there is in force. */
  look(): Promise<readonly TemplateFinding[]>;
}

const MEMORY = 'templates-in-force.json';

export async function openTemplateSet(deps: TemplateSetDeps): Promise<TemplateSet> {
  const builtIn = readTemplateFiles(BUILT_IN_TEMPLATES);
  const memory = join(deps.state, MEMORY);
  let overrides: TemplateSources = new Map();
  let templates = compileTemplates(builtIn);
  let seen: { readonly sources: TemplateSources; readonly findings: readonly TemplateFinding[] } | null = null;

  const use = (next: TemplateSources): void => {
    templates = compileTemplates(builtIn, next);
    overrides = next;
  };
  const look = async (): Promise<readonly TemplateFinding[]> => {
    const { folder, log } = deps;
    if (folder === null) return [];
    const read = readOverrides(folder);
    if (seen !== null && isDeepStrictEqual(seen.sources, read.sources) && read.problems.length === 0)
      return seen.findings;
    const unreadable = read.problems.map((message): TemplateFinding => ({ message, nodes: [] }));
    const findings = unreadable.length > 0 ? unreadable : await tryTemplates(builtIn, read.sources, deps.index());
    seen = { sources: read.sources, findings };
    if (findings.length === 0) {
      use(read.sources);
      await remember(deps.state, memory, read.sources);
      log.info({ folder, templates: overrides.size }, 'the templates of the site are in force');
    } else {
      log.error(
        { folder, problems: findings.map(({ message }) => message) },
        'the templates of the site are refused; the last good ones stay in force',
      );
    }
    return findings;
  };

  if (deps.folder !== null) {
    const findings = await look();
    if (findings.length > 0) await recall(memory).then((last) => last && use(last));
  }
  return {
    render: (name, values) => templates.render(name, values),
    get overridden() {
      return overrides.size;
    },
    look,
  };
}

async function remember(state: string, file: string, sources: TemplateSources): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 });
  await writeFile(`${file}.new`, JSON.stringify([...sources]), { mode: 0o600 });
  await rename(`${file}.new`, file);
}

/** What was good for the nodes then; null when nothing is remembered, or this version cannot use it any more. */
async function recall(file: string): Promise<TemplateSources | null> {
  try {
    const sources: TemplateSources = new Map(JSON.parse(await readFile(file, 'utf8')));
    compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES), sources);
    return sources;
  } catch {
    return null;
  }
}
