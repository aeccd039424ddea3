// The configuration of Debian's installer (version 12 and later): answers for debconf, and two scripts that it fetches.
//
//   preseed.cfg  the answers
//   disks.sh     before partitioning: finds the disks
//   late.sh      at the end, inside the installed system: accounts, network, and the first-boot scripts

import { seedFile } from '../cloud-init/cloud-init.ts';
import type { NodePlan } from '../node-plan.ts';
import type { RenderedFile } from '../rendered-file.ts';
import type { Templates } from '../templates.ts';
import { diskPaths, type InstallerExtras, installerProblems, storageProblems } from './disks.ts';
import type { TargetFile } from './first-boot.ts';
import { lateScript } from './late-script.ts';
import { networkdFiles } from './networkd.ts';
import { planProblems, refuseProblems } from './plan-problems.ts';
import { type Answer, preseedText } from './preseed-answers.ts';
import { fetched, PRESEED_DISKS, storageAnswers } from './preseed-storage.ts';
import { firstBootSystem, systemFiles, unitFile } from './system-files.ts';

/** Throws a ColdironError that lists everything that cannot be rendered safely. */
export function renderPreseed(plan: NodePlan, extras: InstallerExtras, templates: Templates): RenderedFile[] {
  refuseProblems(plan, 'preseed', [
    ...planProblems(plan, extras),
    ...installerProblems(extras),
    ...storageProblems(plan, extras, PRESEED_DISKS),
  ]);
  const { storage } = plan;
  const disks = storage === null ? [] : diskPaths(storage);
  const { files, units } = firstBootSystem(plan, extras, templates);
  const late = lateScript(
    {
      emptied: [],
      files: [...debianFiles(plan), ...networkdFiles(plan), ...systemFiles(plan), ...files, ...units.map(unitFile)],
      accounts: plan.accounts,
      units: ['systemd-networkd.service', ...units.map(({ name }) => name)],
    },
    templates,
  );
  return [
    seedFile('preseed.cfg', preseedText(answers(plan, extras)), extras.diskPassphrase !== null),
    seedFile('disks.sh', templates.render('installers/preseed-disks.sh', { disks }), false),
    seedFile('late.sh', late, extras.nodeParts.length > 0),
  ];
}

const answers = (plan: NodePlan, extras: InstallerExtras): Answer[] => [
  ['debian-installer/locale', 'string', plan.locale],
  ['keyboard-configuration/xkb-keymap', 'select', plan.keyboard],
  ['netcfg/choose_interface', 'select', 'auto'],
  ['netcfg/get_hostname', 'string', plan.hostname],
  ['netcfg/get_domain', 'string', plan.domain ?? ''],
  // The host name from the DHCP server is ignored.
  ['netcfg/hostname', 'string', plan.hostname],
  ...mirrorAnswers(extras.mirrorUrl),
  // No account has a password: people log in with keys, and become root with sudo.
  ['passwd/root-login', 'boolean', 'true'],
  ['passwd/root-password-crypted', 'password', '!'],
  ['passwd/make-user', 'boolean', 'false'],
  ['clock-setup/utc', 'boolean', 'true'],
  ['time/zone', 'string', plan.timeZone],
  ['clock-setup/ntp', 'boolean', 'true'],
  ...plan.ntpServers.slice(0, 1).map((server): Answer => ['clock-setup/ntp-server', 'string', server]),
  ...(plan.storage === null ? [] : storageAnswers(plan.storage, extras)),
  ['tasksel/first', 'multiselect', 'standard', 'tasksel'],
  ['pkgsel/include', 'string', [...new Set([...NEEDED_PACKAGES, ...plan.packages])].join(' ')],
  ['pkgsel/update-policy', 'select', 'none'],
  ['popularity-contest/participate', 'boolean', 'false', 'popularity-contest'],
  ['grub-installer/only_debian', 'boolean', 'true'],
  ['grub-installer/with_other_os', 'boolean', 'true'],
  ['debian-installer/add-kernel-opts', 'string', plan.kernelParameters.join(' ')],
  ['preseed/late_command', 'string', lateCommand(extras.filesUrl)],
  ['finish-install/reboot_in_progress', 'note', ''],
];

const NEEDED_PACKAGES = ['openssh-server', 'sudo', 'curl', 'ca-certificates', 'systemd-timesyncd'] as const;

function mirrorAnswers(url: string | null): Answer[] {
  if (url === null) return [];
  const { protocol, host, pathname } = new URL(url);
  const scheme = protocol === 'https:' ? 'https' : 'http';
  return [
    ['mirror/country', 'string', 'manual'],
    ['mirror/protocol', 'string', scheme],
    [`mirror/${scheme}/hostname`, 'string', host],
    [`mirror/${scheme}/directory`, 'string', pathname],
    [`mirror/${scheme}/proxy`, 'string', ''],
  ];
}

/** Copies the script into the installed system, runs it there, and deletes it. */
const lateCommand = (filesUrl: string): string =>
  `${fetched(`${filesUrl}late.sh`, `/target${LATE}`)} && in-target sh ${LATE} && rm /target${LATE}`;

const LATE = '/root/coldiron-late';

/** With networkd, ifupdown must not configure links, and nothing may overwrite resolv.conf. */
function debianFiles(plan: NodePlan): TargetFile[] {
  const resolver = [
    ...(plan.searchDomains.length === 0 ? [] : [`search ${plan.searchDomains.join(' ')}\n`]),
    ...plan.nameservers.map((server) => `nameserver ${server}\n`),
  ].join('');
  return [
    { path: '/etc/network/interfaces', text: 'auto lo\niface lo inet loopback\n', mode: 0o644 },
    ...(resolver === '' ? [] : [{ path: '/etc/resolv.conf', text: resolver, mode: 0o644 }]),
    ...(plan.ntpServers.length === 0
      ? []
      : [
          {
            path: '/etc/systemd/timesyncd.conf.d/coldiron.conf',
            text: `[Time]\nNTP=${plan.ntpServers.join(' ')}\n`,
            mode: 0o644,
          },
        ]),
  ];
}
