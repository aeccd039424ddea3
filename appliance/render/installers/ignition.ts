// The Ignition (spec 3.4) configuration: Ignition sets up a CoreOS system on its first boot, before anything else runs.

import { seedFile } from '../cloud-init/cloud-init.ts';
import type { NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { type InstallerExtras, installerProblems, storageProblems } from './disks.ts';
import type { TargetFile } from './first-boot.ts';
import { IGNITION_DISKS, ignitionStorage } from './ignition-storage.ts';
import { networkManagerFiles } from './network-manager.ts';
import { planProblems, redHatProblems, refuseProblems } from './plan-problems.ts';
import { firstBootSystem, systemFiles } from './system-files.ts';

/** Throws a ColdironError that lists everything that cannot be rendered safely. */
export function renderIgnition(plan: NodePlan, extras: InstallerExtras, templates: Templates): RenderedFile[] {
  refuseProblems(plan, 'ignition', [
    ...planProblems(plan, extras),
    ...redHatProblems(plan),
    ...installerProblems(extras),
    // Null: the image has its own layout.
    ...(plan.storage === null ? [] : storageProblems(plan, extras, IGNITION_DISKS)),
    ...(plan.packages.length === 0
      ? []
      : [`packages: Ignition installs none; build an image that has ${plan.packages.join(', ')}`]),
  ]);
  const isSecret = extras.nodeParts.length > 0;
  return [seedFile('config.ign', `${JSON.stringify(configuration(plan, extras, templates), null, 2)}\n`, isSecret)];
}

function configuration(plan: NodePlan, extras: InstallerExtras, templates: Templates): object {
  const { files, units } = firstBootSystem(plan, extras, templates);
  const all = [...identityFiles(plan), ...networkManagerFiles(plan), ...systemFiles(plan), ...files];
  return {
    ignition: { version: '3.4.0' },
    ...(plan.kernelParameters.length === 0 ? {} : { kernelArguments: { shouldExist: [...plan.kernelParameters] } }),
    passwd: {
      users: plan.accounts.map(({ name, sshKeys }) => ({ name, shell: '/bin/bash', sshAuthorizedKeys: [...sshKeys] })),
    },
    storage: {
      ...(plan.storage === null ? {} : ignitionStorage(plan.storage, plan.architecture)),
      files: all.map(writtenFile),
      links: [{ path: '/etc/localtime', target: `../usr/share/zoneinfo/${plan.timeZone}`, overwrite: true }],
    },
    systemd: {
      units: [
        ...units.map(({ name, text }) => ({ name, enabled: true, contents: text })),
        ...swapUnits(plan.storage?.swapMegabytes ?? 0, templates),
      ],
    },
  };
}

const identityFiles = (plan: NodePlan): TargetFile[] => [
  { path: '/etc/hostname', text: `${plan.fqdn}\n`, mode: 0o644 },
  { path: '/etc/locale.conf', text: `LANG=${plan.locale}\n`, mode: 0o644 },
  { path: '/etc/vconsole.conf', text: `KEYMAP=${plan.keyboard}\n`, mode: 0o644 },
  ...(plan.ntpServers.length === 0 ? [] : [{ path: '/etc/chrony.conf', text: chrony(plan.ntpServers), mode: 0o644 }]),
];

const chrony = (servers: readonly string[]): string =>
  [
    ...servers.map((server) => `server ${server} iburst`),
    'driftfile /var/lib/chrony/drift',
    'makestep 1.0 3',
    'rtcsync',
    '',
  ].join('\n');

const writtenFile = ({ path, text, mode }: TargetFile): object => ({
  path,
  mode,
  overwrite: true,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});

/** A swap file: the image's partitions leave no room for a swap partition. */
function swapUnits(megabytes: number, templates: Templates): object[] {
  if (megabytes === 0) return [];
  const made = templates.render('installers/coldiron-swapfile.service', { size: `${megabytes}MiB` });
  return [
    { name: 'coldiron-swapfile.service', contents: made },
    { name: 'var-swapfile.swap', enabled: true, contents: templates.render('installers/var-swapfile.swap', {}) },
  ];
}
