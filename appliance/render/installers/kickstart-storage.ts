// The disks for a RHEL-like installer. It modifies only the named disks.

import type { Storage } from '../../domain/system.ts';
import { diskPaths, type InstallerExtras, passphraseText, type StorageRules } from './disks.ts';
import { commandLine } from './kickstart-lines.ts';

export const KICKSTART_DISKS: StorageRules = {
  installer: 'kickstart',
  layouts: { single: 1, mirror: Number.POSITIVE_INFINITY, lvm: Number.POSITIVE_INFINITY, luks: 1 },
  asksPassphrase: true,
};

export function storageLines(storage: Storage, kernelParameters: readonly string[], extras: InstallerExtras): string[] {
  const disks = diskPaths(storage);
  const all = disks.join(',');
  return [
    commandLine('ignoredisk', `--only-use=${all}`),
    commandLine('zerombr'),
    commandLine('clearpart', '--all', '--initlabel', '--disklabel=gpt', `--drives=${all}`),
    commandLine(
      'bootloader',
      `--boot-drive=${disks[0]}`,
      ...(kernelParameters.length === 0 ? [] : [`--append=${kernelParameters.join(' ')}`]),
    ),
    ...(storage.layout === 'mirror' ? mirrorLines(storage, disks, extras) : plainLines(storage, disks, extras)),
  ];
}

/** `reqpart` creates the partitions that the firmware needs, and /boot. */
function plainLines(storage: Storage, disks: readonly string[], extras: InstallerExtras): string[] {
  const swap = storage.swapMegabytes;
  const root = `--fstype=${storage.filesystem}`;
  const encrypted =
    storage.layout === 'luks' && extras.diskPassphrase !== null
      ? ['--encrypted', '--luks-version=luks2', `--passphrase=${passphraseText(extras.diskPassphrase)}`]
      : [];
  if (storage.layout === 'single') {
    return [
      commandLine('reqpart', '--add-boot'),
      ...(swap === 0 ? [] : [commandLine('part', 'swap', `--size=${swap}`, `--ondisk=${disks[0]}`)]),
      commandLine('part', '/', root, '--size=4096', '--grow', `--ondisk=${disks[0]}`),
    ];
  }
  const volumes = disks.map((_disk, index) => `pv.${index}`);
  return [
    commandLine('reqpart', '--add-boot'),
    ...disks.map((disk, index) =>
      commandLine('part', `pv.${index}`, '--size=4096', '--grow', `--ondisk=${disk}`, ...encrypted),
    ),
    commandLine('volgroup', 'coldiron', ...volumes),
    ...(swap === 0 ? [] : [commandLine('logvol', 'swap', '--vgname=coldiron', '--name=swap', `--size=${swap}`)]),
    commandLine('logvol', '/', '--vgname=coldiron', '--name=root', root, '--size=4096', '--grow'),
  ];
}

/** Every disk can boot the machine alone: each has what the firmware and the boot loader read. */
function mirrorLines(storage: Storage, disks: readonly string[], { firmware }: InstallerExtras): string[] {
  const swap = storage.swapMegabytes;
  const mirrors = [
    ...(firmware === 'efi' ? [{ name: 'efi', place: '/boot/efi', kind: 'efi', size: ['--size=512'] }] : []),
    { name: 'boot', place: '/boot', kind: 'ext4', size: ['--size=1024'] },
    ...(swap === 0 ? [] : [{ name: 'swap', place: 'swap', kind: 'swap', size: [`--size=${swap}`] }]),
    { name: 'root', place: '/', kind: storage.filesystem, size: ['--size=4096', '--grow'] },
  ];
  return [
    ...(firmware === 'bios'
      ? disks.map((disk) => commandLine('part', 'biosboot', '--fstype=biosboot', '--size=1', `--ondisk=${disk}`))
      : []),
    ...mirrors.flatMap(({ name, place, kind, size }, row) => {
      const members = disks.map((_disk, index) => `raid.${row}${index}`);
      return [
        ...disks.map((disk, index) => commandLine('part', members[index] ?? '', ...size, `--ondisk=${disk}`)),
        commandLine('raid', place, `--device=${name}`, '--level=RAID1', `--fstype=${kind}`, ...members),
      ];
    }),
  ];
}
