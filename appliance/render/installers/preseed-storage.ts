// The disks for Debian's installer: a partman recipe (partman-auto-recipe.txt in debian-installer). It can partition one disk,
// or set up LVM on several, with or without encryption. A mirror that it sets up boots from one disk only.

import type { Storage } from '../../domain/system.ts';
import { diskPaths, type InstallerExtras, passphraseText, type StorageRules } from './disks.ts';
import type { Answer } from './preseed-answers.ts';

export const PRESEED_DISKS: StorageRules = {
  installer: 'preseed',
  layouts: { single: 1, lvm: Number.POSITIVE_INFINITY, luks: 1 },
  asksPassphrase: true,
};

const METHODS: Readonly<Partial<Record<Storage['layout'], string>>> = { lvm: 'lvm', luks: 'crypto' };

export const storageAnswers = (storage: Storage, extras: InstallerExtras): Answer[] => [
  // Set here already: if it were empty, partman would select the only disk by itself.
  ['partman-auto/disk', 'string', diskPaths(storage).join(' ')],
  ['grub-installer/bootdev', 'string', diskPaths(storage)[0] ?? ''],
  ['partman/early_command', 'string', `${fetched(`${extras.filesUrl}disks.sh`, DISKS)} && sh ${DISKS}`],
  ['partman-auto/method', 'string', METHODS[storage.layout] ?? 'regular'],
  ['partman-auto/expert_recipe', 'string', recipe(storage, extras.firmware)],
  ['partman-partitioning/default_label', 'string', 'gpt'],
  ['partman-partitioning/choose_label', 'select', 'gpt'],
  ['partman-partitioning/confirm_write_new_label', 'boolean', 'true'],
  ...(storage.layout === 'single' ? [] : VOLUME_ANSWERS),
  ...(storage.layout === 'luks' && extras.diskPassphrase !== null
    ? cryptoAnswers(passphraseText(extras.diskPassphrase))
    : []),
  ...(extras.firmware === 'efi'
    ? ([
        ['partman-efi/non_efi_system', 'boolean', 'true'],
        // Firmware may lose its boot entries; it always finds a loader at the default path.
        ['grub-installer/force-efi-extra-removable', 'boolean', 'true'],
      ] as const)
    : []),
  ...(storage.swapMegabytes === 0 ? ([['partman-basicfilesystems/no_swap', 'boolean', 'false']] as const) : []),
  // Removes the LVM and RAID of an earlier system on these disks without asking.
  ['partman-lvm/device_remove_lvm', 'boolean', 'true'],
  ['partman-md/device_remove_md', 'boolean', 'true'],
  ['partman/mount_style', 'select', 'uuid'],
  ['partman/choose_partition', 'select', 'finish'],
  ['partman/confirm', 'boolean', 'true'],
  ['partman/confirm_nooverwrite', 'boolean', 'true'],
];

const GROUP = 'coldiron';

const VOLUME_ANSWERS: readonly Answer[] = [
  ['partman-auto-lvm/new_vg_name', 'string', GROUP],
  ['partman-auto-lvm/guided_size', 'string', 'max'],
  ['partman-lvm/confirm', 'boolean', 'true'],
  ['partman-lvm/confirm_nooverwrite', 'boolean', 'true'],
];

const cryptoAnswers = (passphrase: string): Answer[] => [
  ['partman-crypto/passphrase', 'password', passphrase],
  ['partman-crypto/passphrase-again', 'password', passphrase],
  ['partman-auto-crypto/erase_disks', 'boolean', 'false'],
];

const DISKS = '/tmp/coldiron-disks';

/** wget fails on an error page and on a truncated file, and the command after && is then not run. */
export const fetched = (url: string, path: string): string => `wget -O ${path} '${url}'`;

const NAME = 'coldiron ::';

/** Each line: minimum, preferred and maximum megabytes, type, and use, with a full stop at the end. */
function recipe(storage: Storage, firmware: InstallerExtras['firmware']): string {
  const inGroup = storage.layout === 'single' ? '' : ` $lvmok{ } in_vg{ ${GROUP} }`;
  const filesystem = (kind: string, place: string): string =>
    `method{ format } format{ } use_filesystem{ } filesystem{ ${kind} } mountpoint{ ${place} } .`;
  const swap = storage.swapMegabytes;
  return [
    NAME,
    firmware === 'efi'
      ? '538 538 538 free $iflabel{ gpt } $reusemethod{ } method{ efi } format{ } .'
      : '1 1 1 free $iflabel{ gpt } $reusemethod{ } method{ biosgrub } .',
    ...(storage.layout === 'single'
      ? []
      : [`1024 1024 1024 ext4 $primary{ } $bootable{ } ${filesystem('ext4', '/boot')}`]),
    ...(swap === 0
      ? []
      : [`${swap} ${swap} ${swap} linux-swap${inGroup}${volume(storage, 'swap')} method{ swap } format{ } .`]),
    `4096 10000 -1 ${storage.filesystem}${inGroup}${volume(storage, 'root')} ${filesystem(storage.filesystem, '/')}`,
  ].join(' ');
}

const volume = (storage: Storage, name: string): string => (storage.layout === 'single' ? '' : ` lv_name{ ${name} }`);
