// The disks for Ubuntu's installer as a list of curtin actions. Its predefined layouts support one disk and ext4 only.

import type { Storage } from '../../domain/system.ts';
import { type InstallerExtras, passphraseText, type StorageRules } from './disks.ts';

export const AUTOINSTALL_DISKS: StorageRules = {
  installer: 'autoinstall',
  layouts: { single: 1, mirror: Number.POSITIVE_INFINITY, lvm: Number.POSITIVE_INFINITY, luks: 1 },
  asksPassphrase: true,
};

type Action = Readonly<Record<string, unknown>> & { readonly type: string; readonly id: string };

/** A placeholder until the installer's first command resolves the disk: the installer does not support /dev/disk/by-id. */
export const diskMark = (index: number): string => `coldiron-disk-${index}`;

export function autoinstallStorage(storage: Storage, extras: InstallerExtras): object {
  return {
    // A file on the root filesystem, so that it is as safe as the root filesystem.
    swap: { size: storage.swapMegabytes === 0 ? 0 : `${storage.swapMegabytes}M` },
    config: [
      ...storage.disks.flatMap((_disk, index) => diskActions(index, storage, extras)),
      ...volumeActions(storage, extras),
    ],
  };
}

const SIZES = { efi: '512M', biosGrub: '1M', boot: '1G' } as const;

function diskActions(index: number, storage: Storage, { firmware }: InstallerExtras): Action[] {
  const disk = `disk${index}`;
  // Only in a mirror must each disk be able to boot the machine alone.
  const boots = index === 0 || storage.layout === 'mirror';
  const partition = (id: string, size: string | number, more: object = {}): Action => ({
    type: 'partition',
    id: `${id}${index}`,
    device: disk,
    size,
    ...more,
  });
  const bios = firmware === 'bios';
  return [
    {
      type: 'disk',
      id: disk,
      path: diskMark(index),
      ptable: 'gpt',
      wipe: 'superblock-recursive',
      ...(boots && bios ? { grub_device: true } : {}),
    },
    ...(boots && bios ? [partition('bios', SIZES.biosGrub, { flag: 'bios_grub' })] : []),
    ...(boots && !bios ? efiActions(index, partition) : []),
    ...(index === 0 && hasBoot(storage)
      ? [
          partition('boot', SIZES.boot),
          { type: 'format', id: 'boot-format', volume: 'boot0', fstype: 'ext4' },
          { type: 'mount', id: 'boot-mount', device: 'boot-format', path: '/boot' },
        ]
      : []),
    partition('main', -1),
  ];
}

const hasBoot = (storage: Storage): boolean => storage.layout === 'lvm' || storage.layout === 'luks';

function efiActions(index: number, partition: (id: string, size: string, more: object) => Action): Action[] {
  return [
    partition('efi', SIZES.efi, { flag: 'boot', grub_device: true }),
    { type: 'format', id: `efi${index}-format`, volume: `efi${index}`, fstype: 'fat32' },
    ...(index === 0 ? [{ type: 'mount', id: 'efi-mount', device: 'efi0-format', path: '/boot/efi' }] : []),
  ];
}

/** Builds the layout on the main partitions, with the root filesystem. */
function volumeActions(storage: Storage, extras: InstallerExtras): Action[] {
  const mains = storage.disks.map((_disk, index) => `main${index}`);
  const root = (volume: string): Action[] => [
    { type: 'format', id: 'root-format', volume, fstype: storage.filesystem },
    { type: 'mount', id: 'root-mount', device: 'root-format', path: '/' },
  ];
  switch (storage.layout) {
    case 'mirror':
      return [{ type: 'raid', id: 'mirror', name: 'md0', raidlevel: 'raid1', devices: mains }, ...root('mirror')];
    case 'lvm':
      return [
        { type: 'lvm_volgroup', id: 'group', name: 'coldiron', devices: mains },
        { type: 'lvm_partition', id: 'volume', name: 'root', volgroup: 'group', size: -1 },
        ...root('volume'),
      ];
    case 'luks': {
      const key = extras.diskPassphrase === null ? '' : passphraseText(extras.diskPassphrase);
      return [{ type: 'dm_crypt', id: 'opened', volume: 'main0', dm_name: 'root', key }, ...root('opened')];
    }
    default:
      return root('main0');
  }
}
