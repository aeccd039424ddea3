// The service OS on emulated machines, against docs/service-os.md.

import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ServiceOs } from '../../../appliance/assets/service-os/build.ts';
import { needPackages } from '../../interop/packages.ts';
import { LAST_RESORT_MS } from './fair-clock.ts';
import { BOOTED, output, ROOT_AT, tinyImage } from './service-os-image.ts';
import {
  bootFromDisk,
  bootServiceOs,
  bootWithWords,
  MAC,
  newVariables,
  type ServiceOsMachine,
  serverOf,
  serviceOs,
  type TestMachineSpec,
  UUID,
} from './service-os-machine.ts';
import { ServiceOsSession, type SessionOptions, sha256 } from './service-os-session.ts';

const MEBIBYTE = 1024 * 1024;
const PATIENCE = { timeout: LAST_RESORT_MS };

let folder = '';
let os: ServiceOs;
let image: Buffer;

beforeAll(async () => {
  needPackages(['qemu-system-x86', 'ovmf', 'e2fsprogs', 'fdisk', 'mtools', 'openssh-client']);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-service-os-test-'));
  os = await serviceOs(folder);
  image = tinyImage();
}, LAST_RESORT_MS);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

let disks = 0;
function blankDisk(mebibytes: number, filler = 0x5a): string {
  disks += 1;
  const file = join(folder, `disk-${disks}`);
  writeFileSync(file, Buffer.alloc(8 * MEBIBYTE, filler));
  const handle = openSync(file, 'r+');
  ftruncateSync(handle, mebibytes * MEBIBYTE);
  closeSync(handle);
  return file;
}

const installOrder = (bytes: Buffer, format: string, change: object = {}) => ({
  mode: 'install',
  image: { url: '', sha256: sha256(bytes), format, bytes: image.length },
  disk: { by_id: null, serial: null, model: null, min_bytes: 1, max_bytes: null, rotational: null },
  network: null,
  seed: ['meta-data', 'user-data'],
  grow: true,
  boot_entry: 'Coldiron node05',
  ...change,
});

interface Run {
  readonly session: ServiceOsSession;
  readonly console: string;
}

/** From power-on to the outcome; `meanwhile` may interfere. */
async function run(
  options: SessionOptions,
  spec: TestMachineSpec,
  meanwhile: (session: ServiceOsSession, machine: ServiceOsMachine) => Promise<void> = async () => {},
): Promise<Run> {
  const session = new ServiceOsSession(options);
  await session.listen();
  const orderImage = options.order.image;
  if (orderImage !== undefined) {
    orderImage.url = `${serverOf(session)}/image/disk`;
  }
  const machine = bootServiceOs(os, session, options.order.mode, spec);
  try {
    await meanwhile(session, machine);
    await machine.ended();
    expect(session.outcome, machine.story('no outcome')).not.toBeNull();
    // Only in the header: not on the screen, in no report, in no URL.
    const everything = [machine.console.text, JSON.stringify(session.steps), session.requests.join('\n')].join('\n');
    expect(everything).not.toContain(session.key);
    return { session, console: machine.console.text };
  } finally {
    await machine.powerOff();
    await session.close();
  }
}

const SEED = { 'meta-data': 'instance-id: node05\n', 'user-data': '#cloud-config\n' };

function fileOnRoot(disk: string, path: string): string {
  const root = join(folder, 'root-of-disk');
  writeFileSync(root, readFileSync(disk).subarray(ROOT_AT));
  return output('debugfs', ['-R', `cat ${path}`, root]);
}

describe('the service OS', () => {
  it('reports the hardware of a machine, and does not choose between disks', PATIENCE, async () => {
    const disks: NonNullable<TestMachineSpec['disks']> = [
      { file: blankDisk(64), serial: 'DISK-A' },
      { file: blankDisk(65), serial: 'NVME-B', kind: 'nvme' },
      { file: blankDisk(66), serial: 'SATA-C', kind: 'sata' },
    ];
    const { session } = await run({ order: installOrder(image, 'raw'), images: { disk: image } }, { disks });
    expect(session.introduction).toEqual({
      mac: MAC,
      uuid: UUID,
      serial: 'SN-0050',
      architecture: 'x86_64',
      firmware: 'bios',
      secure_boot: false,
      nonce: expect.stringMatching(/^[0-9a-f]{64}$/),
      macs: [MAC],
      ...{ tpm: null, tpm_error: null, media: null },
    });
    expect(session.facts[0]).toMatchObject({
      system: { manufacturer: 'Coldiron', product: 'Virtual', serial: 'SN-0050', uuid: UUID },
      firmware: { kind: 'bios', vendor: 'SeaBIOS', secure_boot: false, tpm: null },
      cpu: { architecture: 'x86_64', sockets: 1, cores: 1, threads: 1 },
      memory: { bytes: 512 * MEBIBYTE },
      nics: [{ name: 'eth0', mac: MAC, driver: 'virtio_net', link: true }],
      bmc: null,
    });
    const byName = Object.fromEntries((session.facts[0]?.disks ?? []).map((disk) => [disk.name, disk]));
    expect(byName).toMatchObject({
      vda: { serial: 'DISK-A', by_id: ['virtio-DISK-A'], bytes: 64 * MEBIBYTE, read_only: false },
      nvme0n1: { serial: 'NVME-B', model: 'QEMU NVMe Ctrl', bytes: 65 * MEBIBYTE, health: 'ok', rotational: false },
      sda: { serial: 'SATA-C', model: 'QEMU HARDDISK', bytes: 66 * MEBIBYTE, health: 'ok' },
    });
    expect(byName.sda?.by_id).toContain('ata-QEMU_HARDDISK_SATA-C');
    expect(session.outcome).toMatchObject({ ok: false, step: 'choose-disk' });
    expect(session.outcome?.reason).toMatch(/3 disks match .*SATA-C.*DISK-A|3 disks match .*DISK-A.*SATA-C/);
    for (const { file } of disks) expect(readFileSync(file)[0]).toBe(0x5a);
    expect(session.requests).not.toContain('GET /image/disk');
  });

  it('says that its initrd is incomplete, and not that hardware is missing', PATIENCE, async () => {
    const initrd = join(folder, 'cut-off');
    const whole = readFileSync(os.initrd);
    writeFileSync(initrd, whole.subarray(0, Math.floor(whole.length / 2)));
    const machine = bootWithWords({ kernel: os.kernel, initrd }, 1, ['coldiron.mode=inspect']);
    try {
      await machine.prints(/the initrd is incomplete: \d+ of \d+ files are there/);
      await machine.prints(/to do: on the appliance, run: coldiron assets verify/);
      expect(machine.console.text).not.toContain('network card');
    } finally {
      await machine.powerOff();
    }
  });

  it('installs a gzipped image, resumes a broken download, and the machine boots from its disk', PATIENCE, async () => {
    const bytes = gzipSync(image, { level: 1 });
    const disk = blankDisk(96);
    let cuts = 0;
    const cutAfter = (): number | null => {
      cuts += 1;
      return cuts === 1 ? Math.floor(bytes.length / 2) : null;
    };
    const { session, console } = await run(
      { order: installOrder(bytes, 'gzip'), files: SEED, images: { disk: bytes }, cutAfter },
      { disks: [{ file: disk }] },
    );
    expect(session.outcome, console).toEqual({ ok: true, step: 'boot-entry', reason: null });
    expect(session.steps.filter(({ status }) => status === 'done').map(({ step }) => step)).toEqual([
      ...['inspect', 'rehearse', 'choose-disk', 'write-image', 'verify-image', 'grow', 'seed', 'boot-entry'],
    ]);
    expect(cuts).toBe(2);
    expect(fileOnRoot(disk, '/var/lib/cloud/seed/nocloud/user-data')).toBe(SEED['user-data']);
    const table = JSON.parse(output('sfdisk', ['--json', disk])).partitiontable;
    expect(table.lastlba * 512).toBeGreaterThan(95 * MEBIBYTE);
    expect(table.partitions[1].size * 512).toBeGreaterThan(90 * MEBIBYTE);
    const installed = bootFromDisk({ disks: [{ file: disk }] });
    try {
      await installed.prints(new RegExp(BOOTED));
    } finally {
      await installed.powerOff();
    }
  });

  it('erases disks, verifies them, and reports a read-only disk as failed', PATIENCE, async () => {
    const [plain, nvme, locked] = [blankDisk(32), blankDisk(32), blankDisk(32)];
    const { session } = await run(
      { order: { mode: 'erase', disks: 'all' } },
      { disks: [{ file: plain }, { file: nvme, kind: 'nvme', serial: 'N' }, { file: locked, readOnly: true }] },
    );
    for (const disk of [plain, nvme]) expect(readFileSync(disk).every((byte) => byte === 0)).toBe(true);
    expect(readFileSync(locked)[0]).toBe(0x5a);
    expect(session.outcome).toEqual({
      ...{ ok: false, step: 'erase-vdb', reason: 'vdb is read-only: it was not erased' },
      erased: [
        { name: 'nvme0n1', serial: 'N', bytes: 32 * MEBIBYTE, method: 'NVMe format with user data erase' },
        { name: 'vda', serial: null, bytes: 32 * MEBIBYTE, method: 'discarded' },
      ],
    });
    const ended = session.steps.filter(({ status }) => status === 'done').map(({ step }) => step);
    expect(ended.sort()).toEqual(['erase-nvme0n1', 'erase-vda', 'inspect']);
  });

  it('writes a raw image, and adds a boot entry to the firmware of a UEFI machine', PATIENCE, async () => {
    const variables = newVariables(join(folder, 'variables'));
    const disk = blankDisk(64);
    const { session, console } = await run(
      { order: installOrder(image, 'raw', { grow: false, seed: [] }), images: { disk: image } },
      { disks: [{ file: disk }], uefi: variables },
    );
    expect(session.outcome, console).toMatchObject({ ok: true });
    expect(readFileSync(disk).subarray(0, 440).equals(image.subarray(0, 440))).toBe(true);
    expect(session.facts[0]).toMatchObject({ firmware: { kind: 'uefi', secure_boot: false } });
    const messages = session.steps.find(({ step, status }) => step === 'boot-entry' && status === 'done')?.message;
    expect(messages).toBe('Coldiron node05 starts \\EFI\\BOOT\\BOOTX64.EFI');
    expect(readFileSync(variables).includes(Buffer.from('Coldiron node05', 'utf16le'))).toBe(true);
  });

  it('tests memory, disks and the network, and reads samples of an erased disk', PATIENCE, async () => {
    const tests = [{ name: 'memory', megabytes: 16 }, { name: 'disk' }, { name: 'network' }];
    const bytes = 64 * MEBIBYTE;
    const samples = [
      [0, 2 * MEBIBYTE],
      [bytes - MEBIBYTE, MEBIBYTE],
      [33 * MEBIBYTE, 65_536],
    ];
    const erased = [
      { name: 'sdz', serial: 'ERASED', bytes, samples },
      { name: 'sdy', serial: 'GONE', bytes, samples },
    ];
    const { session, console } = await run(
      { order: { mode: 'commission', tests, erased } },
      { disks: [{ file: blankDisk(64) }, { file: blankDisk(64, 0), serial: 'ERASED' }] },
    );
    expect(session.steps.find(({ step, status }) => step === 'verify-erasure' && status === 'done')).toMatchObject({
      samples: [
        { disk: 0, state: 'empty', bytes: 3 * MEBIBYTE + 65_536, offset: null },
        { disk: 1, state: 'missing', bytes: 0, offset: null },
      ],
    });
    expect(session.outcome, console).toEqual({ ok: true, step: 'test-network', reason: null });
    const messages = Object.fromEntries(session.steps.map(({ step, message }) => [step, message]));
    expect(messages['test-memory']).toBe('16 MB without a fault');
    expect(messages['test-disk']).toMatch(/^vda unknown, \d+ MB\/s, vdb unknown, \d+ MB\/s$/);
    expect(messages['test-network']).toMatch(/ % lost, \d+ Mbit\/s$/);
  });

  it('accepts a rescue login with the key of the order only', PATIENCE, async () => {
    const [own, strange] = ['own', 'strange'].map((name) => {
      output('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
      return join(folder, name);
    });
    const port = 20_000 + (process.pid % 10_000);
    const ssh = (key: string, command = 'cat /proc/sys/kernel/ostype'): string =>
      output('ssh', [
        ...['-F', 'none', '-o', 'BatchMode=yes', '-o', 'IdentitiesOnly=yes', '-o', 'StrictHostKeyChecking=no'],
        ...['-o', `UserKnownHostsFile=${join(folder, 'hosts')}`, '-o', 'ConnectTimeout=60'],
        ...['-i', key, '-p', String(port), 'root@127.0.0.1', command],
      ]);
    const order = { mode: 'rescue', minutes: 60, authorized_keys: [readFileSync(`${own}.pub`, 'utf8').trim()] };
    const { session } = await run({ order }, { sshPort: port }, async (opened) => {
      await opened.until(() => opened.steps.some(({ step, status }) => step === 'rescue' && status === 'done'));
      expect(ssh(own ?? '')).toBe('Linux\n');
      expect(() => ssh(strange ?? '')).toThrow(/Permission denied \(publickey\)/);
      // This process replies to nothing while ssh runs, but its listening socket accepts connections. 10.0.2.2 is QEMU's address of the host.
      const connections = (server: string): string =>
        ssh(own ?? '', `curl -s -m 3 -w '%{num_connects}' ${server} || :`);
      expect(connections(serverOf(opened))).toBe('1');
      expect(connections(`http://10.0.2.2:${opened.port}`)).toBe('0');
      opened.cancelled = true;
    });
    const messages = session.steps.find(({ step, status }) => step === 'rescue' && status === 'done')?.message;
    expect(messages).toMatch(/host keys: .*SHA256:/);
    expect(session.outcome).toMatchObject({ ok: true, step: 'rescue' });
  });
});
