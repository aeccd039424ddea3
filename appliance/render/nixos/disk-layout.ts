// The disk layout: for each disk its boot partitions and its share of the layout. The template only writes it out.

import type { Storage } from '../../domain/system.ts';

export type Firmware = 'efi' | 'bios';

export interface DiskView {
  /** Used in the configuration and in the partition labels. */
  readonly name: string;
  readonly index: number;
  /** A partition for GRUB, if the firmware is a BIOS. */
  readonly hasBiosPartition: boolean;
  /** Mount point of its EFI system partition. */
  readonly esp: string | null;
  /** Content of its boot partition: a filesystem, or its half of a mirrored one. */
  readonly bootContent: object | null;
  readonly swapContent: object | null;
}

const BOOT = { type: 'filesystem', format: 'ext4', mountpoint: '/boot' };
const SWAP = { type: 'swap' };
/** With a new key at every boot. */
const ENCRYPTED_SWAP = { type: 'swap', randomEncryption: true };
const half = (name: string): object => ({ type: 'mdraid', name });

export interface LayoutView {
  readonly disks: readonly DiskView[];
  readonly isSingle: boolean;
  readonly isMirror: boolean;
  readonly isLvm: boolean;
  readonly isLuks: boolean;
  readonly isZfs: boolean;
  readonly zpoolMode: '' | 'mirror';
  readonly filesystem: string;
  readonly swapSize: string;
  readonly hasVolumeSwap: boolean;
  readonly hasMirroredBoot: boolean;
  readonly hasMirroredSwap: boolean;
  readonly hasMdadm: boolean;
  /** More than one: GRUB is installed on each, so that the machine boots from any remaining disk. */
  readonly espMounts: readonly string[];
  readonly espOptions: readonly string[];
}

export function layoutView(storage: Storage, firmware: Firmware): LayoutView {
  const { layout, swapMegabytes } = storage;
  const isRedundant = storage.disks.length > 1 && (layout === 'mirror' || layout === 'zfs');
  const hasPartitionSwap = swapMegabytes > 0 && layout !== 'lvm';
  const swap = isRedundant ? half('swap') : layout === 'luks' ? ENCRYPTED_SWAP : SWAP;
  const disks = storage.disks.map((_selector, index): DiskView => {
    const boots = index === 0 || isRedundant;
    return {
      name: index === 0 ? 'main' : `disk${index + 1}`,
      index,
      hasBiosPartition: boots && firmware === 'bios',
      esp: boots && firmware === 'efi' ? `/boot${index === 0 ? '' : index + 1}` : null,
      bootContent: boots && firmware === 'bios' ? (isRedundant ? half('boot') : BOOT) : null,
      swapContent: boots && hasPartitionSwap ? swap : null,
    };
  });
  const hasMirroredBoot = isRedundant && firmware === 'bios';
  const hasMirroredSwap = isRedundant && hasPartitionSwap;
  return {
    disks,
    isSingle: layout === 'single',
    isMirror: layout === 'mirror',
    isLvm: layout === 'lvm',
    isLuks: layout === 'luks',
    isZfs: layout === 'zfs',
    zpoolMode: isRedundant ? 'mirror' : '',
    filesystem: storage.filesystem,
    swapSize: `${swapMegabytes}M`,
    hasVolumeSwap: layout === 'lvm' && swapMegabytes > 0,
    hasMirroredBoot,
    hasMirroredSwap,
    hasMdadm: layout === 'mirror' || hasMirroredBoot || hasMirroredSwap,
    // One of several may be missing at boot; the only one may not.
    espOptions: ['umask=0077', ...(isRedundant ? ['nofail'] : [])],
    espMounts: disks.flatMap(({ esp }) => (esp === null ? [] : [esp])),
  };
}

/** Checks the number of disks of a layout. */
export function layoutProblem({ layout, disks }: Storage): string | null {
  const count = disks.length;
  if ((layout === 'single' || layout === 'luks') && count !== 1) return `${layout} needs one disk, not ${count}`;
  if (layout === 'mirror' && count < 2) return `mirror needs at least two disks, not ${count}`;
  return count === 0 ? `${layout} needs at least one disk` : null;
}
