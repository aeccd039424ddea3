// Clients that we did not write, as in an initramfs or on a technician's laptop.

import { execFile } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { machineIn, UUID } from '../../boot/boot-fixtures.ts';
import { BootServerRig, patternBytes } from '../../servers/http-boot/boot-server-rig.ts';
import { needPackages } from '../packages.ts';

const run = promisify(execFile);
const MEBIBYTE = 1024 * 1024;

let rig: BootServerRig;
beforeAll(() => needPackages(['curl', 'wget']));
afterEach(() => rig.stop());

describe('curl', () => {
  it('downloads, resumes a download, and gets an error when the file is already complete', async () => {
    rig = await BootServerRig.start();
    const bytes = rig.shelve('nixos/worker/initrd', patternBytes(2_000_000));
    const file = join(rig.folder, 'got');
    writeFileSync(file, bytes.subarray(0, 700_000));
    await run('curl', ['-sSf', '-C', '-', '-o', file, rig.url('/boot/nixos/worker/initrd')]);
    expect(readFileSync(file).equals(bytes)).toBe(true);
    const etag = `If-None-Match: "${rig.assets.get('nixos/worker/initrd')?.sha256}"`;
    const code = ['-sS', '-o', '/dev/null', '-w', '%{http_code}', '-H', etag, rig.url('/boot/nixos/worker/initrd')];
    expect((await run('curl', code)).stdout).toBe('304');
  });

  it('gets kernel and initrd over one connection, after a HEAD as EDK2 sends it', async () => {
    rig = await BootServerRig.start();
    rig.shelve('ipxe.efi', patternBytes(1_000_000), { contentType: 'application/efi' });
    const url = rig.url('/boot/loader/ipxe.efi');
    const { stdout } = await run('curl', [
      '-sSI',
      url,
      '--next',
      '-sS',
      '-o',
      '/dev/null',
      '-w',
      '%{num_connects}',
      url,
    ]);
    expect(stdout).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
    expect(stdout).toContain('\r\nContent-Length: 1000000\r\n');
    expect(stdout.endsWith('0')).toBe(true);
  });

  it('gets the script of a machine as text', async () => {
    rig = await BootServerRig.start({ machines: [machineIn('active')] });
    const url = rig.url(`/boot/ipxe/52-54-00-12-34-56.ipxe?uuid=${UUID}&buildarch=x86_64&platform=efi`);
    expect((await run('curl', ['-sSf', url])).stdout).toMatch(/^#!ipxe\n/);
  });

  it('cannot leave the library by path', async () => {
    rig = await BootServerRig.start();
    for (const path of ['/boot/loader/../../../etc/passwd', '/boot/loader/%2e%2e/%2e%2e/etc/passwd']) {
      const { stdout } = await run('curl', ['-sS', '--path-as-is', '-w', '%{http_code}', rig.url(path)]);
      expect(stdout).toMatch(/404$/);
      expect(stdout).not.toContain('root:');
    }
  });

  it.each([
    ['held in memory', 512, 250],
    ['streamed from the disk', 100, 0],
  ])('16 times at once with 250 MB, %s: the memory stays flat', async (_how, budget, held) => {
    rig = await BootServerRig.start({ memoryBudget: budget * MEBIBYTE });
    rig.shelveSparse('images/big/initrd', 250 * MEBIBYTE);
    const url = rig.url('/boot/big/initrd');
    const used = (): number => process.memoryUsage().arrayBuffers / MEBIBYTE;
    const before = used();
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, used() - before);
    }, 20);
    try {
      const download = () => run('curl', ['-sSf', '-o', '/dev/null', '-w', '%{size_download}', url]);
      const sizes = (await Promise.all(Array.from({ length: 16 }, download))).map(({ stdout }) => Number(stdout));
      expect(new Set(sizes)).toEqual(new Set([250 * MEBIBYTE]));
    } finally {
      clearInterval(watch);
    }
    // The file once, and two slices for each transfer that comes from the disk.
    expect(peak).toBeLessThan(held + 32);
    expect(rig.server.usage.heldBytes).toBe(held * MEBIBYTE);
  });
});

describe('wget', () => {
  it('downloads and continues', async () => {
    rig = await BootServerRig.start({ memoryBudget: 0 });
    const bytes = rig.shelve('images/debian/disk.img', patternBytes(3_000_000));
    const file = join(rig.folder, 'disk.img');
    writeFileSync(file, bytes.subarray(0, 1_000_001));
    await run('wget', ['-q', '-c', '-O', file, rig.url('/boot/debian/disk.img')]);
    expect(readFileSync(file).equals(bytes)).toBe(true);
  });
});
