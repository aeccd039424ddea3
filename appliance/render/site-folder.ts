// A whole site as one folder: the flake of its NixOS nodes with every node's folder below nodes/, and the files of the site.
// It contains no secrets: keys are issued for one node at a time.

import { ColdironError } from '../domain/errors.ts';
import type { Site } from '../domain/network.ts';
import { renderFlake } from './nixos/site-flake.ts';
import { previewExtras, renderNodeFiles } from './node-files.ts';
import type { NodePlan } from './node-plan.ts';
import type { PlanIndex } from './plan-index.ts';
import { planNode } from './plan-node.ts';
import type { RenderedFile } from './rendered-file.ts';
import type { AppliancePorts } from './site/firewall.ts';
import { renderSite } from './site/render-site.ts';
import type { Templates } from './templates.ts';

export interface SkippedNode {
  readonly node: string;
  readonly reasons: readonly string[];
}

interface SiteFolderInput {
  readonly index: PlanIndex;
  readonly site: Site;
  readonly templates: Templates;
  readonly modules: ReadonlyMap<string, string>;
  readonly ports: AppliancePorts;
  /** Called for a node that cannot be rendered; the others still are. */
  readonly onSkipped: (left: SkippedNode) => void;
}

/** One step per node, so that the caller can yield in between. The same inventory renders to the same bytes. */
export function* renderSiteFolder(input: SiteFolderInput): Generator<readonly RenderedFile[]> {
  const { index, site, templates, modules, ports, onSkipped } = input;
  const plans: NodePlan[] = [];
  for (const machine of index.machines) {
    if (machine.spec.site !== site.name) continue;
    const planned = planNode(index, machine);
    const rendered = planned.ok ? filesOf(planned.plan, templates) : planned.reasons;
    if (planned.ok && rendered.every((one) => typeof one !== 'string')) {
      plans.push(planned.plan);
      yield rendered;
    } else {
      onSkipped({ node: machine.spec.hostname, reasons: rendered.filter((one) => typeof one === 'string') });
    }
  }
  yield renderFlake({ plans, templates, modules });
  yield renderSite(index, site.name, templates, ports);
}

/** The files, or every reason why there are none. */
function filesOf(plan: NodePlan, templates: Templates): RenderedFile[] | string[] {
  try {
    const files = renderNodeFiles(plan, previewExtras(plan), templates);
    const folder = `nodes/${plan.fqdn}/`;
    return files.map((file) => (file.path.startsWith(folder) ? file : { ...file, path: folder + file.path }));
  } catch (error) {
    if (!(error instanceof ColdironError)) throw error;
    return error.details.length > 0 ? [...error.details] : [error.message];
  }
}
