// What a machine runs on its first boot: the site's part, then ours. Each part is one script that contains its payload, runs
// it, and records the result, so that a failure shows which part failed.

import type { SiteBootstrap } from '../../domain/system.ts';
import type { NodePlan } from '../node-plan.ts';
import type { Templates } from '../templates.ts';

/** A script with its own name and version. */
export interface BootPart extends SiteBootstrap {
  /** With `--report PATH` it tells the appliance that the part with this payload failed, and changes nothing. */
  readonly reports?: boolean;
}

export interface FirstBootExtras {
  /** Identifies the deployment. A machine runs its first boot once per id. */
  readonly instanceId: string;
  /** The parts that make the machine a node, in run order. Empty for nodes that are enrolled by hand. */
  readonly nodeParts: readonly BootPart[];
}

/** A file of the installed system. */
export interface TargetFile {
  /** Absolute. */
  readonly path: string;
  readonly text: string;
  readonly mode: number;
}

export const STATE_FOLDER = '/var/lib/coldiron';
export const PARTS_FOLDER = `${STATE_FOLDER}/first-boot`;
export const RUN_PARTS = `${STATE_FOLDER}/run-first-boot`;

type Owner = 'site-bootstrap' | 'node-bootstrap';

/** Path of a part's payload; `.status` and `.log` are beside it. */
const payloadPath = (owner: Owner, part: BootPart): string => `${STATE_FOLDER}/${owner}/${part.name}-${part.version}`;

export interface FirstBoot {
  /** Null: the site has no part. */
  readonly site: TargetFile | null;
  readonly node: readonly TargetFile[];
}

export function firstBoot(
  plan: Pick<NodePlan, 'siteBootstrap'>,
  extras: FirstBootExtras,
  templates: Templates,
): FirstBoot {
  const { siteBootstrap } = plan;
  const script = (owner: Owner, part: BootPart, needs: readonly string[]): string =>
    templates.render('installers/first-boot-part.sh', {
      owner,
      name: part.name,
      version: part.version,
      instance: extras.instanceId,
      payload: part.script,
      needs,
      reports: part.reports ?? false,
    });
  const needs = siteBootstrap === null ? [] : [payloadPath('site-bootstrap', siteBootstrap)];
  return {
    site: siteBootstrap && partFile(10, 'site', siteBootstrap, script('site-bootstrap', siteBootstrap, [])),
    node: extras.nodeParts.map((part, index) =>
      partFile(
        20 + index,
        'node',
        part,
        script('node-bootstrap', part, [
          ...needs,
          ...extras.nodeParts.slice(0, index).map((before) => payloadPath('node-bootstrap', before)),
        ]),
      ),
    ),
  };
}

const partFile = (order: number, owner: 'site' | 'node', part: BootPart, text: string): TargetFile => ({
  path: `${PARTS_FOLDER}/${order}-${owner}-${part.name}-${part.version}`,
  text,
  mode: 0o700,
});

/** Adds the script that runs the parts in order; empty without parts. */
export function partsWithRunner(parts: readonly TargetFile[], templates: Templates): TargetFile[] {
  if (parts.length === 0) return [];
  const text = templates.render('installers/run-first-boot.sh', { folder: PARTS_FOLDER });
  return [...parts, { path: RUN_PARTS, text, mode: 0o700 }];
}
