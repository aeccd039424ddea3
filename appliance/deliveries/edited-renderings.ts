// The effect of an inventory edit on renderings: only affected nodes are rendered, each before and after the edit.

import { setImmediate } from 'node:timers/promises';
import { ColdironError } from '../domain/errors.ts';
import type { Inventory } from '../domain/inventory.ts';
import { sameValue } from '../inventory/difference.ts';
import { editedNodes } from '../render/edited-nodes.ts';
import type { NodePlan } from '../render/node-plan.ts';
import { indexInventory } from '../render/plan-index.ts';
import type { PlannedNode } from '../render/plan-node.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import { type FileChange, renderingDiff } from '../render/rendering-diff.ts';

export interface EditedRendering {
  readonly node: string;
  readonly files: readonly FileChange[];
  /** Why it cannot be rendered after the edit; empty: it can. */
  readonly reasons: readonly string[];
}

type Render = (plan: NodePlan) => readonly RenderedFile[];

/** Nodes whose rendering changes, by host name; without added and removed nodes. Yields to the event loop after each node. */
export async function* editedRenderings(
  before: Inventory,
  after: Inventory,
  render: Render,
  namesMembers: boolean,
): AsyncGenerator<EditedRendering> {
  const edit = {
    before: { inventory: before, index: indexInventory(before) },
    after: { inventory: after, index: indexInventory(after) },
    namesMembers,
    same: sameValue,
  };
  for (const { hostname, before: was, after: is } of editedNodes(edit)) {
    const [old, now] = [rendered(was, render), rendered(is, render)];
    const files = renderingDiff(old.files, now.files);
    if (files.length > 0 || !sameValue(old.reasons, now.reasons)) {
      yield { node: hostname, files: now.reasons.length > 0 ? [] : files, reasons: now.reasons };
    }
    await setImmediate();
  }
}

function rendered(
  planned: PlannedNode,
  render: Render,
): Pick<EditedRendering, 'reasons'> & { files: readonly RenderedFile[] } {
  if (!planned.ok) return { files: [], reasons: planned.reasons };
  try {
    return { files: render(planned.plan), reasons: [] };
  } catch (error) {
    if (!(error instanceof ColdironError)) throw error;
    return { files: [], reasons: error.details.length > 0 ? error.details : [error.message] };
  }
}
