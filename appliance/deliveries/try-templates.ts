// Tests an operator's templates on every node and every site before any of them is used.

import { setImmediate } from 'node:timers/promises';
import { ColdironError } from '../domain/errors.ts';
import { previewExtras, renderNodeFiles } from '../render/node-files.ts';
import type { PlanIndex } from '../render/plan-index.ts';
import { planNode } from '../render/plan-node.ts';
import { renderSite } from '../render/site/render-site.ts';
import { tryOverrides } from '../render/template-overrides.ts';
import type { TemplateSources, Templates } from '../render/templates.ts';

/** One problem, with all nodes that show it. */
export interface TemplateFinding {
  /** Template, line, field, reason, and the affected nodes. */
  readonly message: string;
  readonly nodes: readonly string[];
}

/** Yields to the event loop after each node. Empty: the templates can be used. */
export async function tryTemplates(
  builtIn: TemplateSources,
  overrides: TemplateSources,
  index: PlanIndex,
): Promise<TemplateFinding[]> {
  const trial = tryOverrides(builtIn, overrides);
  const tried = (name: string, render: (templates: Templates) => unknown): void => {
    try {
      trial.run(name, render);
    } catch (error) {
      // A node that cannot be rendered with any templates is no evidence against these.
      if (!(error instanceof ColdironError)) throw error;
    }
  };
  for (const site of index.sites.values()) {
    tried(`site ${site.name}`, (templates) => renderSite(index, site.name, templates));
    await setImmediate();
  }
  for (const machine of index.machines) {
    const planned = planNode(index, machine);
    if (!planned.ok) continue;
    const { plan } = planned;
    tried(plan.hostname, (templates) => renderNodeFiles(plan, previewExtras(plan), templates));
    await setImmediate();
  }
  return grouped(trial.problems);
}

const MOST_NAMED = 5;

function grouped(problems: readonly { readonly message: string; readonly node: string | null }[]): TemplateFinding[] {
  const found = new Map<string, Set<string>>();
  for (const { message, node } of problems) {
    const what = node === null ? message : message.slice(0, -` (for ${node})`.length);
    const nodes = found.get(what) ?? new Set();
    found.set(what, nodes);
    if (node !== null) nodes.add(node);
  }
  return [...found].map(([what, names]) => {
    const nodes = [...names];
    const more = nodes.length > MOST_NAMED ? ` and ${nodes.length - MOST_NAMED} more` : '';
    const suffix = nodes.length === 0 ? '' : ` (for ${nodes.slice(0, MOST_NAMED).join(', ')}${more})`;
    return { message: what + suffix, nodes };
  });
}
