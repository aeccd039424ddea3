// A whole site as one folder: the flake of its NixOS nodes with every node's folder below nodes/, and what the site needs
// besides. There is no secret in it: keys are made for one node at a time.

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

export interface LeftOut {
  readonly node: string;
  readonly reasons: readonly string[];
}

interface SiteQuestion {
  readonly index: PlanIndex;
  readonly site: Site;
  readonly templates: Templates;
  readonly modules: ReadonlyMap<string, string>;
  readonly ports: AppliancePorts;
  /** A node that cannot be rendered is told here, and the others are. */
  readonly leaveOut: (left: LeftOut) => void;
}

/** One step for each node: whoever takes them decides how long to pause in between. The same inventory makes the same bytes. */
export function* renderSiteFolder(question: SiteQuestion): Generator<readonly RenderedFile[]> {
  const { index, site, templates, modules, ports, leaveOut } = question;
  const plans: NodePlan[] = [];
  for (const machine of index.machines) {
    if (machine.spec.site !== site.name) continue;
    const planned = planNode(index, machine);
    const rendered = planned.ok ? filesOf(planned.plan, templates) : planned.reasons;
    if (planned.ok && rendered.every((one) => typeof one !== 'string')) {
      plans.push(planned.plan);
      yield rendered;
    } else {
      leaveOut({ node: machine.spec.hostname, reasons: rendered.filter((one) => typeof one === 'string') });
    }
  }
  yield renderFlake({ plans, templates, modules });
  yield renderSite(index, site.name, templates, ports);
}

/** Or every reason why there are none. */
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
