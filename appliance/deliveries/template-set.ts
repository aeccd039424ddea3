// The templates in use: ours, with the operator's replacing those of the same name. A set that fails to render is never used;
// the last valid set stays in use, even after a restart.

import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../assets/template-files.ts';
import { replaceFile } from '../files/whole-files.ts';
import type { PlanIndex } from '../render/plan-index.ts';
import { compileTemplates, type TemplateSources, type Templates } from '../render/templates.ts';
import { readOverrides } from './read-overrides.ts';
import { type TemplateFinding, tryTemplates } from './try-templates.ts';

export interface TemplateSetDeps {
  /** The operator's folder; null: there is none. */
  readonly folder: string | null;
  /** The folder that stores the last valid set. */
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
  /** Reads the folder again. Empty: its templates are in use. */
  reload(): Promise<readonly TemplateFinding[]>;
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
  const reload = async (): Promise<readonly TemplateFinding[]> => {
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
      await saveLastValid(deps.state, memory, read.sources);
      log.info({ folder, templates: overrides.size }, 'the templates of the site are in use');
    } else {
      log.error(
        { folder, problems: findings.map(({ message }) => message) },
        'the templates of the site are rejected; the last valid ones stay in use',
      );
    }
    return findings;
  };

  if (deps.folder !== null) {
    const findings = await reload();
    if (findings.length > 0) await readLastValid(memory).then((last) => last && use(last));
  }
  return {
    render: (name, values) => templates.render(name, values),
    get overridden() {
      return overrides.size;
    },
    reload,
  };
}

async function saveLastValid(state: string, file: string, sources: TemplateSources): Promise<void> {
  await mkdir(state, { recursive: true, mode: 0o700 });
  await replaceFile(file, JSON.stringify([...sources]), 0o600);
}

/** The last valid set; null if there is none, or if this version cannot compile it. */
async function readLastValid(file: string): Promise<TemplateSources | null> {
  try {
    const sources: TemplateSources = new Map(JSON.parse(await readFile(file, 'utf8')));
    compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES), sources);
    return sources;
  } catch {
    return null;
  }
}
