// Templates of an operator that replace ours, tested on their nodes before any node gets them.

import type { NodePlan } from './node-plan.ts';
import { TemplateError, type TemplatePlace, templateError } from './template-error.ts';
import { readTemplate } from './template-reader.ts';
import { compileReporting, type TemplateSources, type Templates } from './templates.ts';

export interface TemplateProblem extends TemplatePlace {
  /** Null: the template itself is wrong, for every node. */
  readonly node: string | null;
  readonly reason: string;
  /** The whole problem as text. */
  readonly message: string;
}

interface OverrideInput {
  readonly builtIn: TemplateSources;
  readonly overrides: TemplateSources;
  readonly plans: readonly NodePlan[];
  /** Renders everything for one node. */
  readonly render: (plan: NodePlan, templates: Templates) => unknown;
}

/** All problems at once; empty: these overrides can be used. */
export function checkOverrides({ builtIn, overrides, plans, render }: OverrideInput): TemplateProblem[] {
  const trial = tryOverrides(builtIn, overrides);
  for (const plan of plans) trial.run(plan.hostname, (templates) => render(plan, templates));
  return [...trial.problems];
}

export interface OverrideTrial {
  /** All problems so far. */
  readonly problems: readonly TemplateProblem[];
  run(node: string, render: (templates: Templates) => unknown): void;
}

/** For many nodes in turn. Errors in the templates themselves are found at once. */
export function tryOverrides(builtIn: TemplateSources, overrides: TemplateSources): OverrideTrial {
  const mistakes = templateErrors(builtIn, overrides);
  const broken = new Set(mistakes.flatMap(({ place }) => [place.template, place.file]));
  const sound = new Map([...builtIn, ...[...overrides].filter(([name]) => !broken.has(name))]);
  const problems = mistakes.map((mistake) => problemFrom(mistake, null));
  let current: string | null = null;
  const templates = compileReporting(sound, (mistake) => problems.push(problemFrom(mistake, current)));
  return {
    problems,
    run: (node, render) => {
      current = node;
      render(templates);
    },
  };
}

/** Errors in the templates themselves. An override may also break a template of ours that includes it. */
function templateErrors(builtIn: TemplateSources, overrides: TemplateSources): TemplateError[] {
  const all = new Map([...builtIn, ...overrides]);
  const mistakes: TemplateError[] = [];
  const used = new Set(builtIn.keys());
  for (const name of all.keys()) {
    try {
      for (const part of readTemplate(all, name).parts) used.add(part);
    } catch (mistake) {
      if (!(mistake instanceof TemplateError)) throw mistake;
      mistakes.push(mistake);
    }
  }
  const stray = [...overrides.keys()].filter((name) => !used.has(name));
  return [
    ...mistakes,
    ...stray.map((name) => templateError(name, 'replaces no template, and no template includes it')),
  ];
}

const problemFrom = (mistake: TemplateError, node: string | null): TemplateProblem => ({
  ...mistake.place,
  node,
  reason: mistake.reason,
  message: node === null ? mistake.message : `${mistake.message} (for ${node})`,
});
