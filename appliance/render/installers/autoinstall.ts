// The autoinstall (version 1) configuration of Ubuntu's installer (subiquity), as the NoCloud seed that it boots with.

import { identityConfig } from '../cloud-init/cloud-config.ts';
import { metaData, seedFile } from '../cloud-init/cloud-init.ts';
import { networkConfig } from '../cloud-init/network-config.ts';
import { yamlDocument } from '../cloud-init/yaml-document.ts';
import type { NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { AUTOINSTALL_DISKS, autoinstallStorage, diskMark } from './autoinstall-storage.ts';
import { diskPaths, type InstallerExtras, installerProblems, storageProblems } from './disks.ts';
import { firstBoot, partsWithRunner, RUN_PARTS } from './first-boot.ts';
import { planProblems, refuseProblems } from './plan-problems.ts';
import { kernelParameterFiles } from './system-files.ts';

/** Throws a ColdironError that lists everything that cannot be rendered safely. */
export function renderAutoinstall(plan: NodePlan, extras: InstallerExtras, templates: Templates): RenderedFile[] {
  refuseProblems(plan, 'autoinstall', [
    ...planProblems(plan, extras),
    ...installerProblems(extras),
    ...storageProblems(plan, extras, AUTOINSTALL_DISKS),
  ]);
  const document = yamlDocument('#cloud-config', { autoinstall: autoinstall(plan, extras, templates) });
  const isSecret = extras.nodeParts.length > 0 || extras.diskPassphrase !== null;
  return [metaData(plan, extras), seedFile('user-data', document, isSecret)];
}

function autoinstall(plan: NodePlan, extras: InstallerExtras, templates: Templates): object {
  const { storage } = plan;
  const { site, node } = firstBoot(plan, extras, templates);
  const files = partsWithRunner([...(site === null ? [] : [site]), ...node], templates);
  const late = kernelParameterFiles(plan, templates).map(({ text }) => inTarget(text));
  return {
    version: 1,
    ...(storage === null ? {} : { 'early-commands': [['sh', '-c', findDisks(diskPaths(storage), templates)]] }),
    locale: plan.locale,
    keyboard: { layout: plan.keyboard },
    timezone: plan.timeZone,
    network: networkConfig(plan),
    ...(extras.mirrorUrl === null ? {} : { apt: { 'mirror-selection': { primary: [{ uri: extras.mirrorUrl }] } } }),
    ...(storage === null ? {} : { storage: autoinstallStorage(storage, extras) }),
    ssh: { 'install-server': true, 'allow-pw': false },
    packages: [...plan.packages],
    // For cloud-init of the installed system; replaces the single account that the installer would require.
    'user-data': identityConfig(plan, templates, {
      files,
      commands: files.length === 0 ? [] : [[RUN_PARTS]],
    }),
    ...(late.length === 0 ? {} : { 'late-commands': late }),
    shutdown: 'reboot',
  };
}

/** Runs in the installer before it probes disks; the installer then reloads its configuration. */
const findDisks = (disks: readonly string[], templates: Templates): string =>
  templates.render('installers/autoinstall-disks.sh', {
    disks: disks.map((path, index) => ({ path, mark: diskMark(index) })),
  });

const inTarget = (script: string): readonly string[] => [
  'curtin',
  'in-target',
  '--target=/target',
  '--',
  'sh',
  '-c',
  script,
];
