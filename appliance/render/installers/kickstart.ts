// The kickstart file for a RHEL-like installer (Anaconda of RHEL 9 and Fedora, and later).

import { seedFile } from '../cloud-init/cloud-init.ts';
import type { NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { type InstallerExtras, installerProblems, storageProblems } from './disks.ts';
import { commandLine } from './kickstart-lines.ts';
import { KICKSTART_DISKS, storageLines } from './kickstart-storage.ts';
import { lateScript } from './late-script.ts';
import { CONNECTIONS_FOLDER, networkManagerFiles } from './network-manager.ts';
import { planProblems, redHatProblems, refuseProblems } from './plan-problems.ts';
import { firstBootSystem, systemFiles, unitFile } from './system-files.ts';

/** Throws a ColdironError that lists everything that cannot be rendered safely. */
export function renderKickstart(plan: NodePlan, extras: InstallerExtras, templates: Templates): RenderedFile[] {
  refuseProblems(plan, 'kickstart', [
    ...planProblems(plan, extras),
    ...redHatProblems(plan),
    ...installerProblems(extras),
    ...storageProblems(plan, extras, KICKSTART_DISKS),
  ]);
  const lines = [
    ...commands(plan, extras),
    ...(plan.storage === null ? [] : storageLines(plan.storage, plan.kernelParameters, extras)),
    '',
    '%packages',
    ...new Set([...NEEDED_PACKAGES, ...plan.packages]),
    '%end',
    '',
    // A failing %post must fail the installation.
    '%post --erroronfail',
    post(plan, extras, templates),
    '%end',
    '',
  ];
  const isSecret = extras.nodeParts.length > 0 || extras.diskPassphrase !== null;
  return [seedFile('ks.cfg', lines.join('\n'), isSecret)];
}

const NEEDED_PACKAGES = ['@core', 'openssh-server', 'sudo', 'curl', 'chrony'] as const;

const commands = (plan: NodePlan, extras: InstallerExtras): string[] => [
  commandLine('text'),
  ...(extras.mirrorUrl === null ? [] : [commandLine('url', `--url=${extras.mirrorUrl}`)]),
  commandLine('lang', plan.locale),
  commandLine('keyboard', plan.keyboard),
  commandLine('timezone', plan.timeZone, '--utc'),
  ...plan.ntpServers.map((server) => commandLine('timesource', `--ntp-server=${server}`)),
  // For the installation only; %post writes the network of the installed system.
  commandLine('network', '--bootproto=dhcp', `--device=${provisioningDevice(plan)}`, '--activate'),
  commandLine('network', `--hostname=${plan.fqdn}`),
  commandLine('rootpw', '--lock'),
  ...plan.accounts.flatMap(({ name, sshKeys }) => [
    commandLine('user', `--name=${name}`, '--shell=/bin/bash', '--lock'),
    ...sshKeys.map((key) => commandLine('sshkey', `--username=${name}`, key)),
  ]),
  commandLine('firewall', '--enabled', '--service=ssh'),
  commandLine('selinux', '--enforcing'),
  commandLine('services', '--enabled=sshd,chronyd'),
  commandLine('firstboot', '--disable'),
  commandLine('reboot'),
];

/** `bootif` is the network interface that the machine booted from. */
function provisioningDevice(plan: NodePlan): string {
  const link = plan.links.find((one) => one.kind === 'ethernet' && one.purpose === 'provisioning');
  return link?.kind === 'ethernet' && link.mac !== null ? link.mac : 'bootif';
}

function post(plan: NodePlan, extras: InstallerExtras, templates: Templates): string {
  const { files, units } = firstBootSystem(plan, extras, templates);
  return lateScript(
    {
      emptied: [CONNECTIONS_FOLDER],
      files: [...networkManagerFiles(plan), ...systemFiles(plan), ...files, ...units.map(unitFile)],
      // The installer has already created them.
      accounts: [],
      units: units.map(({ name }) => name),
    },
    templates,
  ).trimEnd();
}
