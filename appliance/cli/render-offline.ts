// Renderings from inventory files alone: the same bytes each time, no secrets, and nothing is remembered.

import { createHash, randomUUID } from 'node:crypto';
import { knownAs } from '../api/find-node.ts';
import { fileView, renderingView } from '../api/views/rendering.ts';
import { BUILT_IN_TEMPLATES, readNodeModules, readTemplateFiles } from '../assets/template-files.ts';
import { loadConfig } from '../config.ts';
import type { RenderedNode, RenderedSite } from '../contract/schemas/rendering.ts';
import { readOverrides } from '../deliveries/read-overrides.ts';
import { Renderings } from '../deliveries/renderings.ts';
import { tryTemplates } from '../deliveries/try-templates.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Inventory } from '../domain/inventory.ts';
import { parseMachineId } from '../domain/machine.ts';
import { mustParse, shown } from '../domain/parsed.ts';
import { declaredInventory } from '../inventory/declared-inventory.ts';
import { Fleet } from '../inventory/fleet.ts';
import { previewExtras } from '../render/node-files.ts';
import { indexInventory } from '../render/plan-index.ts';
import { USUAL_PORTS } from '../render/site/render-site.ts';
import type { SkippedNode } from '../render/site-folder.ts';
import type { TemplateSources } from '../render/templates.ts';
import { compileTemplates } from '../render/templates.ts';
import { chosenSite } from './chosen-site.ts';
import { checkedSources } from './inventory-files.ts';

interface OfflineOptions {
  readonly config?: string;
  readonly templates?: string;
  readonly at?: string;
}

export async function renderedNode(
  reference: string,
  files: readonly string[],
  options: OfflineOptions,
): Promise<RenderedNode> {
  const { renderings, fleet } = await offline(files, options);
  const machine = knownAs({ fleet }, reference);
  if (!machine) throw new ColdironError('not_found', `no node is called ${shown(reference)}`);
  const rendering = renderingView(await renderings.preview(machine), true);
  return { ...rendering, missing: [...rendering.missing, 'its own id: one made from its name stands in its place'] };
}

export async function renderedSite(files: readonly string[], options: OfflineOptions): Promise<RenderedSite> {
  const { renderings, fleet } = await offline(files, options);
  const sites = [...fleet.sites()];
  const name = chosenSite(
    sites.map((one) => one.name),
    options.at,
  );
  const site = sites.find((one) => one.name === name);
  const answer: RenderedSite = { site: name, inventory_revision: 0, files: [], left_out: [] };
  if (!site) return answer;
  const onSkipped = ({ node, reasons }: SkippedNode): void => {
    answer.left_out.push({ node, reasons: [...reasons] });
  };
  for await (const made of renderings.site(site, onSkipped)) {
    for (const file of made) answer.files.push(fileView(file, true));
  }
  return answer;
}

/** Nodes with a profile that cannot be rendered with our own templates, each with every reason. */
export async function unrenderable(inventory: Inventory): Promise<readonly SkippedNode[]> {
  const left: SkippedNode[] = [];
  const withProfile = inventory.machines.filter(({ spec }) => spec.profile !== null);
  const { renderings } = renderingsOf(inventory, new Map());
  for (const machine of withProfile) {
    try {
      const plan = renderings.plan(machine);
      renderings.files(plan, previewExtras(plan));
    } catch (error) {
      if (!(error instanceof ColdironError)) throw error;
      const reasons = error.details.length > 0 ? error.details : [error.message];
      left.push({ node: machine.spec.hostname, reasons });
    }
  }
  return left;
}

async function offline(files: readonly string[], options: OfflineOptions) {
  const inventory = withStableIds(declaredInventory(await checkedSources(files), 0, randomUUID));
  return renderingsOf(inventory, await soundOverrides(options, inventory));
}

function renderingsOf(inventory: Inventory, overrides: TemplateSources) {
  const fleet = new Fleet();
  fleet.replace(inventory);
  const templates = compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES), overrides);
  const renderings = new Renderings({
    fleet,
    store: NOTHING_REMEMBERED,
    templates: { ...templates, overridden: overrides.size, reload: async () => [] },
    modules: readNodeModules(),
    serviceFiles: null,
    ports: USUAL_PORTS,
    now: () => 0,
  });
  return { renderings, fleet };
}

const forgets = async (): Promise<void> => {};
const NOTHING_REMEMBERED = {
  factsOf: async () => [],
  renderingOf: async () => null,
  putRendering: forgets,
  appendAudit: forgets,
};

/** Those that the options name, tried on every node. */
async function soundOverrides({ config, templates }: OfflineOptions, inventory: Inventory): Promise<TemplateSources> {
  const folder = templates ?? (config === undefined ? null : (await loadConfig(config)).templates);
  if (folder === null) return new Map();
  const problems = await templateProblems(folder, inventory);
  if (problems.length > 0) throw invalidTemplates(problems);
  return readOverrides(folder).sources;
}

/** Everything that is wrong with the templates in a folder, for these nodes. */
export async function templateProblems(folder: string, inventory: Inventory): Promise<readonly string[]> {
  const { sources, problems } = readOverrides(folder);
  if (problems.length > 0) return problems;
  const found = await tryTemplates(readTemplateFiles(BUILT_IN_TEMPLATES), sources, indexInventory(inventory));
  return found.map(({ message }) => message);
}

export const invalidTemplates = (problems: readonly string[]): ColdironError =>
  new ColdironError(
    'invalid_templates',
    problems.length === 1 ? 'the templates have a problem:' : `the templates have ${problems.length} problems:`,
    problems,
  );

/** RFC 9562 §5.8: an id of our own making, from the name, so that two runs make the same bytes. */
export function withStableIds(inventory: Inventory): Inventory {
  const machines = inventory.machines.map((machine) => {
    const hex = createHash('sha256').update(`node ${machine.spec.hostname}`).digest('hex');
    const parts = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `8${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20, 32),
    ];
    return { ...machine, id: mustParse(parseMachineId(parts.join('-'))) };
  });
  return { ...inventory, machines };
}
