// Templates that an operator puts in the place of ours, tried on the nodes they are meant for before any node gets them.

import type { NodePlan } from './node-plan.ts';
import { TemplateError, type TemplatePlace, templateMistake } from './template-error.ts';
import { readTemplate } from './template-reader.ts';
import { compileReporting, type TemplateSources, type Templates } from './templates.ts';

export interface TemplateProblem extends TemplatePlace {
  /** Null: the template itself is wrong, whatever it is rendered for. */
  readonly node: string | null;
  readonly reason: string;
  /** All of it in words. */
  readonly message: string;
}

interface OverrideQuestion {
  readonly builtIn: TemplateSources;
  readonly overrides: TemplateSources;
  readonly plans: readonly NodePlan[];
  /** Everything that is rendered for one node. */
  readonly render: (plan: NodePlan, templates: Templates) => unknown;
}

/** Every problem at once; none: these overrides can be used. */
export function checkOverrides({ builtIn, overrides, plans, render }: OverrideQuestion): TemplateProblem[] {
  const trial = tryOverrides(builtIn, overrides);
  for (const plan of plans) trial.run(plan.hostname, (templates) => render(plan, templates));
  return [...trial.problems];
}

export interface OverrideTrial {
  /** Every problem so far. */
  readonly problems: readonly TemplateProblem[];
  run(node: string, render: (templates: Templates) => unknown): void;
}

/** For many nodes, one after the other. Those of the templates themselves are found at once. */
export function tryOverrides(builtIn: TemplateSources, overrides: TemplateSources): OverrideTrial {
  const mistakes = mistakesIn(builtIn, overrides);
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

/** Those of the templates themselves. An override may also spoil a template of ours that takes it in. */
function mistakesIn(builtIn: TemplateSources, overrides: TemplateSources): TemplateError[] {
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
    ...stray.map((name) => templateMistake(name, 'takes the place of no template, and none takes it in')),
  ];
}

const problemFrom = (mistake: TemplateError, node: string | null): TemplateProblem => ({
  ...mistake.place,
  node,
  reason: mistake.reason,
  message: node === null ? mistake.message : `${mistake.message} (for ${node})`,
});
