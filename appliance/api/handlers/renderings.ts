// Handlers of renderings, templates and the declared inventory.

import { Readable } from 'node:stream';
import type { Static } from 'typebox';
import type { EditedNode } from '../../contract/schemas/rendering.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Site } from '../../domain/network.ts';
import { shown } from '../../domain/parsed.ts';
import type { ApplyReport } from '../../inventory/apply.ts';
import type { SkippedNode } from '../../render/site-folder.ts';
import { applyDocuments, documentsOf } from '../apply-documents.ts';
import { MEBIBYTE } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { type Handlers, RawAnswer } from '../handler.ts';
import { recordingWrongSkus } from '../refused-registration.ts';
import { applyView } from '../views/inventory.ts';
import { differenceView, fileView, renderingView } from '../views/rendering.ts';

export const renderingHandlers: Handlers<
  'previewRendering' | 'createRendering' | 'compareRendering' | 'getTemplates' | 'renderSite' | 'applyInventory'
> = {
  previewRendering: async (deps, { params }) =>
    renderingView(await deps.renderings.preview(await findNode(deps, params.node)), false),

  createRendering: async (deps, { params, origin }) =>
    renderingView(await deps.renderings.issueFolder(await findNode(deps, params.node), origin), true),

  async compareRendering(deps, { params }) {
    const machine = await findNode(deps, params.node);
    return differenceView(machine.spec.hostname, await deps.renderings.changes(machine));
  },

  async getTemplates({ renderings }) {
    const { overridden, problems } = await renderings.templates();
    return { overridden, problems: [...problems] };
  },

  renderSite(deps, { params }) {
    const site = [...deps.fleet.sites()].find(({ name }) => name === params.site);
    if (!site) throw new ColdironError('not_found', `there is no site ${shown(params.site)}`);
    return new RawAnswer(200, Readable.from(siteDocument(deps, site)));
  },

  async applyInventory(deps, { body: { sources, dry_run: dryRun = false, diff = false }, origin }) {
    const documents = documentsOf(sources);
    const apply = () => applyDocuments(deps, documents, { mode: 'reconcile', dryRun, origin });
    const report = await (dryRun ? apply() : recordingWrongSkus(deps, origin, documents, apply));
    if (!report.dryRun) return applyView(report);
    return { ...applyView(report), renderings: await editedNodes(deps, report, diff) };
  },
};

/** Streams while it renders: ten thousand nodes are never in memory at once. */
async function* siteDocument({ renderings }: ManagementDeps, site: Site): AsyncGenerator<string> {
  const leftOut: SkippedNode[] = [];
  const head = { site: site.name, inventory_revision: renderings.index().declaredRevision };
  yield `${JSON.stringify(head).slice(0, -1)},"files":[`;
  let separator = '';
  for await (const files of renderings.site(site, (left) => leftOut.push(left))) {
    const texts = files.map((file) => JSON.stringify(fileView(file, false)));
    if (texts.length === 0) continue;
    yield separator + texts.join(',');
    separator = ',';
  }
  yield `],"left_out":${JSON.stringify(leftOut)}}`;
}

/** Above this number of nodes the lines are left out; the changed files are listed for every node. */
const MOST_DIFF_CHARACTERS = 8 * MEBIBYTE;

async function editedNodes(
  { renderings }: ManagementDeps,
  { outlook }: ApplyReport,
  withDiff: boolean,
): Promise<Static<typeof EditedNode>[]> {
  const nodes: Static<typeof EditedNode>[] = [];
  if (!outlook) return nodes;
  let characters = withDiff ? 0 : MOST_DIFF_CHARACTERS;
  for await (const { node, files, reasons } of renderings.edited(outlook.before, outlook.after)) {
    const listed = files.map(({ diff, ...file }) => {
      characters += diff.length;
      return characters <= MOST_DIFF_CHARACTERS && withDiff ? { ...file, diff } : file;
    });
    nodes.push({ node, files: listed, reasons: [...reasons] });
  }
  return nodes;
}
