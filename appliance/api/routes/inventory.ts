import type { Static } from 'typebox';
import type { ApplyReport } from '../../inventory/apply.ts';
import { originOf } from '../access.ts';
import { applyDocuments, documentsOf } from '../apply-documents.ts';
import { type App, MEBIBYTE } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { ApplyAnswer, applyView, InventoryApply } from '../schemas/inventory.ts';
import type { EditedNode } from '../schemas/rendering.ts';

/** 10,000 nodes are about 4 MiB of JSON. */
const LARGEST_INVENTORY = 32 * MEBIBYTE;

export function inventoryRoutes(app: App, deps: ManagementDeps): void {
  app.post(
    '/inventory/apply',
    {
      bodyLimit: LARGEST_INVENTORY,
      // It may remove nodes, and removing one is for admins.
      config: { access: 'admin' },
      schema: {
        summary: 'Make the inventory what these sources say, as a whole or not at all',
        tags: ['inventory'],
        body: InventoryApply,
        response: { 200: ApplyAnswer },
      },
    },
    async (request) => {
      const { sources, dry_run: dryRun = false, diff = false } = request.body;
      const how = { mode: 'reconcile', dryRun, ...originOf(request) } as const;
      const report = await applyDocuments(deps, documentsOf(sources), how);
      if (!report.dryRun) return applyView(report);
      return { ...applyView(report), renderings: await editedNodes(deps, report, diff) };
    },
  );
}

/** Beyond this the lines themselves are left out; which files change is told for every node. */
const MOST_DIFF_CHARACTERS = 8 * MEBIBYTE;

async function editedNodes(
  { renderings }: ManagementDeps,
  { outlook }: ApplyReport,
  withDiff: boolean,
): Promise<Static<typeof EditedNode>[]> {
  const nodes: Static<typeof EditedNode>[] = [];
  if (!outlook) return nodes;
  let told = withDiff ? 0 : MOST_DIFF_CHARACTERS;
  for await (const { node, files, reasons } of renderings.edited(outlook.before, outlook.after)) {
    const shown = files.map(({ diff, ...file }) => {
      told += diff.length;
      return told <= MOST_DIFF_CHARACTERS && withDiff ? { ...file, diff } : file;
    });
    nodes.push({ node, files: shown, reasons: [...reasons] });
  }
  return nodes;
}
