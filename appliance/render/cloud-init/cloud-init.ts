// The NoCloud seed of a machine: what cloud-init reads on the first boot of a cloud image.
//
//   meta-data       identity; a new instance id makes cloud-init run everything again
//   vendor-data     the site's own bootstrap, with its own name and version; runs before our parts
//   user-data       everything else, and the parts that make the machine a node
//   network-config  links by MAC address

import {
  type FirstBootExtras,
  firstBoot,
  partsWithRunner,
  RUN_PARTS,
  type TargetFile,
} from '../installers/first-boot.ts';
import { planProblems, refuseProblems } from '../installers/plan-problems.ts';
import type { NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { imageConfig } from './cloud-config.ts';
import { networkConfig } from './network-config.ts';
import { yamlDocument } from './yaml-document.ts';

/** Throws a ColdironError that lists everything that cannot be rendered safely. */
export function renderCloudInit(plan: NodePlan, extras: FirstBootExtras, templates: Templates): RenderedFile[] {
  refuseProblems(plan, 'cloud-init', planProblems(plan, extras));
  const { site, node } = firstBoot(plan, extras, templates);
  const files = partsWithRunner(node, templates);
  const config = imageConfig(plan, templates, { files, commands: files.length === 0 ? [] : [[RUN_PARTS]] });
  return [
    metaData(plan, extras),
    // The node parts contain the enrollment credentials of the machine.
    seedFile('user-data', yamlDocument('#cloud-config', config), node.length > 0),
    seedFile('vendor-data', vendorData(site), false),
    seedFile('network-config', yamlDocument(null, networkConfig(plan)), false),
  ];
}

export const metaData = (plan: NodePlan, extras: FirstBootExtras): RenderedFile =>
  seedFile(
    'meta-data',
    yamlDocument(null, { 'instance-id': extras.instanceId, 'local-hostname': plan.hostname }),
    false,
  );

export const seedFile = (path: string, text: string, secret: boolean): RenderedFile => ({
  path,
  text,
  mode: secret ? 0o600 : 0o644,
  secret,
});

/** The part name is the script name on the machine, and therefore appears in cloud-init's error messages. */
function vendorData(site: TargetFile | null): string {
  if (site === null) return yamlDocument('#cloud-config', {});
  const filename = site.path.slice(site.path.lastIndexOf('/') + 1);
  return yamlDocument('#cloud-config-archive', [{ type: 'text/x-shellscript', filename, content: site.text }]);
}
