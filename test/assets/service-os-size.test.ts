// The size of what every machine fetches first, and what it must contain nevertheless.

import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { archivedFiles } from '../../appliance/assets/cpio.ts';
import { buildServiceOs, type ServiceOs } from '../../appliance/assets/service-os/build.ts';
import { LIBRARY_FOLDER } from '../../appliance/assets/service-os/recipe.ts';

const MEGABYTE = 1_000_000;
const MINUTES = 60_000;
const ZSTD = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** The second part of the initrd, unpacked: file names appear in it as plain text. */
const unpacked = (initrd: Buffer): Buffer =>
  zstdDecompressSync(initrd.subarray(initrd.indexOf(ZSTD, initrd.indexOf('TRAILER!!!'))));

/** Kernel and initrd together. Debian's arm64 kernel is not compressed. */
const LIMITS = [
  ['amd64', 45],
  ['arm64', 65],
] as const;

describe.each(LIMITS)('the service OS for %s', (architecture, megabytes) => {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-test-'));
  let os: ServiceOs;

  // Taken from the cache if it was built before; the first build takes minutes.
  beforeAll(async () => {
    os = await buildServiceOs(folder, { architecture });
  }, 20 * MINUTES);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it(`is at most ${megabytes} MB, kernel and initrd together`, () => {
    expect(statSync(os.kernel).size + statSync(os.initrd).size).toBeLessThanOrEqual(megabytes * MEGABYTE);
  });

  it('has drivers for the disks and cards of servers, and none for shared network storage', () => {
    const archive = unpacked(readFileSync(os.initrd));
    const has = (path: string): boolean => archive.includes(`/kernel/drivers/${path}.ko\0`);
    const wanted = [
      ...['ata/ahci', 'nvme/host/nvme', 'block/virtio_blk', 'scsi/megaraid/megaraid_sas', 'scsi/mpt3sas/mpt3sas'],
      ...['net/virtio_net', 'net/ethernet/intel/ice/ice', 'net/ethernet/broadcom/bnxt/bnxt_en'],
      ...['net/ethernet/mellanox/mlx5/core/mlx5_core', 'net/bonding/bonding', 'char/ipmi/ipmi_si'],
    ];
    expect(wanted.filter((path) => !has(path))).toEqual([]);
    const media = [
      'char/tpm/tpm_tis_spi',
      'cdrom/cdrom',
      'scsi/sr_mod',
      'scsi/virtio_scsi',
      'usb/storage/usb-storage',
      'usb/storage/uas',
    ];
    expect(media.filter((path) => !has(path))).toEqual([]);
    const unwanted = ['scsi/lpfc/lpfc', 'scsi/qla2xxx/qla2xxx', 'scsi/iscsi_tcp', 'nvme/host/nvme-tcp'];
    expect(unwanted.filter(has)).toEqual([]);
  });

  it('lists how many files it has, and the last one, so that an incomplete one is noticed', () => {
    const initrd = readFileSync(os.initrd);
    const scripts = archivedFiles(initrd);
    const base = archivedFiles(unpacked(initrd));
    const list = `${scripts.length + base.length}\n${base.at(-1)}\n`;
    expect(scripts).toContain('service-os/files');
    expect(initrd.subarray(0, initrd.indexOf(ZSTD)).includes(list)).toBe(true);
    expect(base.length).toBeGreaterThan(300);
  });

  it('has what a session needs: tpm2 with its way to the device, openssl, and a curl that uses OpenSSL', () => {
    const archive = unpacked(readFileSync(os.initrd));
    const paths = [
      'usr/bin/tpm2',
      'usr/bin/openssl',
      'usr/bin/curl',
      `${LIBRARY_FOLDER[architecture]}/libtss2-tcti-device.so.0`,
    ];
    expect([...paths, 'libssl.so.3'].filter((path) => !archive.includes(`${path}\0`))).toEqual([]);
  });
});
