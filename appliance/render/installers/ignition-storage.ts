// The disks of a CoreOS system, in Ignition's spec. The image is already on the first disk when Ignition runs; Ignition
// applies this to it on the first boot.

import type { CpuArchitecture } from '../../domain/architecture.ts';
import type { Storage } from '../../domain/system.ts';
import { diskPaths, type StorageRules } from './disks.ts';

export const IGNITION_DISKS: StorageRules = {
  installer: 'ignition',
  layouts: { single: 1, mirror: Number.POSITIVE_INFINITY, luks: 1 },
  asksPassphrase: false,
};

/** GPT partition types that firmware and boot loader look for. */
const TYPES = {
  biosBoot: '21686148-6449-6e6f-744e-656564454649',
  efi: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  reserved: '8da63339-0007-60c0-c436-083ac8230908',
} as const;

const ROOT = { label: 'root', wipeFilesystem: true } as const;

export function ignitionStorage(storage: Storage, architecture: CpuArchitecture): object {
  switch (storage.layout) {
    case 'mirror':
      return mirror(storage, architecture);
    case 'luks':
      return {
        luks: [
          {
            name: 'root',
            label: 'luks-root',
            device: '/dev/disk/by-partlabel/root',
            clevis: { tpm2: true },
            wipeVolume: true,
          },
        ],
        filesystems: [{ device: '/dev/mapper/root', format: storage.filesystem, ...ROOT }],
      };
    default:
      // A filesystem that the image already has is not recreated: that needs the memory to hold the whole system.
      if (storage.filesystem === 'xfs') return {};
      return { filesystems: [{ device: '/dev/disk/by-partlabel/root', format: storage.filesystem, ...ROOT }] };
  }
}

function mirror(storage: Storage, architecture: CpuArchitecture): object {
  const disks = diskPaths(storage);
  const first =
    architecture === 'x86_64'
      ? { label: 'bios', sizeMiB: 1, typeGuid: TYPES.biosBoot }
      : { label: 'reserved', sizeMiB: 1, typeGuid: TYPES.reserved };
  const partitions = [
    first,
    { label: 'esp', sizeMiB: 127, typeGuid: TYPES.efi },
    { label: 'boot', sizeMiB: 384 },
    // All remaining space.
    { label: 'root', sizeMiB: 0 },
  ];
  const number = (index: number): number => index + 1;
  const members = (label: string): string[] =>
    disks.map((_disk, index) => `/dev/disk/by-partlabel/${label}-${number(index)}`);
  return {
    disks: disks.map((device, index) => ({
      device,
      wipeTable: true,
      partitions: partitions.map((partition) => ({ ...partition, label: `${partition.label}-${number(index)}` })),
    })),
    raid: [
      // The boot loader reads each half as if there were no mirror: metadata 1.0 is at the end.
      { name: 'md-boot', level: 'raid1', devices: members('boot'), options: ['--metadata=1.0'] },
      { name: 'md-root', level: 'raid1', devices: members('root') },
    ],
    filesystems: [
      ...disks.map((_disk, index) => ({
        device: `/dev/disk/by-partlabel/esp-${number(index)}`,
        format: 'vfat',
        label: `esp-${number(index)}`,
        wipeFilesystem: true,
      })),
      { device: '/dev/md/md-boot', format: 'ext4', label: 'boot', wipeFilesystem: true },
      { device: '/dev/md/md-root', format: storage.filesystem, ...ROOT },
    ],
  };
}
