import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AssetLibrary } from '../../../../appliance/assets/library.ts';
import { importNetboot } from '../../../../appliance/provisioning/installers/nixos/import-netboot.ts';
import { bzImage, kernelImage, PE_MACHINE, peFile, put, temporaryFolder } from '../../../assets/tiny-files.ts';
import { named } from '../../../render/plans.ts';

const ROOT = join(import.meta.dirname, '../../../..');
const INIT = 'init=/nix/store/abc-nixos-system-nixos-25.05/init';
const SCRIPT = `#!ipxe\nkernel bzImage ${INIT} initrd=initrd nohibernate loglevel=4 \${cmdline}\ninitrd initrd\nboot\n`;
const INITRD = Buffer.concat([Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), Buffer.alloc(60)]);

/** Like the result of Nix: links into another folder. */
function built(changes: Readonly<Record<string, Buffer | string | null>> = {}): string {
  const [store, result] = [temporaryFolder(), temporaryFolder()];
  const files = { bzImage: bzImage(1), initrd: INITRD, 'netboot.ipxe': SCRIPT, ...changes };
  for (const [name, bytes] of Object.entries(files)) {
    if (bytes !== null) symlinkSync(put(store, `hash-${name}`, bytes), join(result, name));
  }
  return result;
}

const worker = named('worker');

describe('importing a network installer', () => {
  it('puts its three files into the library, where the boot script finds them', async () => {
    const folder = temporaryFolder();
    const imported = await importNetboot(folder, worker, built(), null);
    expect(imported).toMatchObject({ architecture: 'x86_64', parameters: [INIT, 'nohibernate', 'loglevel=4'] });
    const library = await AssetLibrary.open(folder);
    expect(library.problems()).toEqual([]);
    for (const { name, sha256 } of imported.placed) expect(library.find(name)).toMatchObject({ sha256 });
    expect(library.list().map(({ name, kind }) => [name, kind])).toEqual([
      ['nixos/worker/bzImage', 'kernel'],
      ['nixos/worker/initrd', 'initrd'],
      ['nixos/worker/netboot.ipxe', 'script'],
    ]);
    expect(readFileSync(join(folder, 'nixos/worker/netboot.ipxe'), 'utf8')).toBe(SCRIPT);
  });

  it('says so when nothing has changed', async () => {
    const [folder, from] = [temporaryFolder(), built()];
    await importNetboot(folder, worker, from, 'x86_64');
    const again = await importNetboot(folder, worker, from, 'x86_64');
    expect(again.placed.map(({ unchanged }) => unchanged)).toEqual([true, true, true]);
  });

  it('accepts an installer for arm64', async () => {
    const kernel = kernelImage(PE_MACHINE.arm64, 'ARM\x64');
    expect(await importNetboot(temporaryFolder(), worker, built({ bzImage: kernel }), 'arm64')).toMatchObject({
      architecture: 'arm64',
    });
  });

  it.each<[what: string, changes: Readonly<Record<string, Buffer | string | null>>, problems: string[]]>([
    ['missing files', { bzImage: null, initrd: null }, ['bzImage: does not exist', 'initrd: does not exist']],
    [
      'a program instead of the kernel',
      { bzImage: peFile(PE_MACHINE.x86_64) },
      ['bzImage: must be a Linux kernel, is an EFI program for x86_64'],
    ],
    [
      'a kernel of 32 bits',
      { bzImage: bzImage(0) },
      ['bzImage: is a Linux kernel for i386; there are installers for x86_64 and arm64'],
    ],
    ['something else for an initrd', { initrd: 'hello' }, ['initrd: must be an initrd, is a file of no bootable type']],
    [
      'a script without init=',
      { 'netboot.ipxe': '#!ipxe\nkernel bzImage quiet\n' },
      ['netboot.ipxe: its kernel line has no init='],
    ],
    ['a script of a shell', { 'netboot.ipxe': '#!/bin/sh\n' }, ['netboot.ipxe: not an iPXE script: #!ipxe is missing']],
    [
      'a script that is too long',
      { 'netboot.ipxe': `#!ipxe\n${'#'.repeat(70_000)}` },
      ['netboot.ipxe: has 70007 characters, which is too long for a script'],
    ],
  ])('rejects %s, and copies nothing', async (_what, changes, problems) => {
    const folder = temporaryFolder();
    await expect(importNetboot(folder, worker, built(changes), null)).rejects.toMatchObject({
      code: 'usage',
      details: problems,
    });
    expect(existsSync(join(folder, 'nixos'))).toBe(false);
  });

  it('rejects a kernel for other machines than the profile has', async () => {
    await expect(importNetboot(temporaryFolder(), worker, built(), 'arm64')).rejects.toMatchObject({
      details: ['bzImage: is a Linux kernel for x86_64, but must be for arm64'],
    });
  });

  it('is a command', () => {
    const state = temporaryFolder();
    const coldiron = (...args: string[]) =>
      spawnSync(join(ROOT, 'coldiron'), ['assets', 'import-nixos', ...args, '--state', state], {
        cwd: ROOT,
        encoding: 'utf8',
      });
    const good = coldiron('worker', built());
    expect(good).toMatchObject({ status: 0, stderr: '' });
    expect(good.stdout).toMatch(/^nixos\/worker\/bzImage: imported, sha256 [0-9a-f]{64}\n/);
    expect(good.stdout).toContain('Machines with profile worker boot this installer (x86_64).');
    expect(JSON.parse(coldiron('worker', built(), '--json').stdout)).toMatchObject({
      parameters: [INIT, 'nohibernate', 'loglevel=4'],
    });
    expect(coldiron('../x', built())).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('the profile: not a name'),
    });
    expect(coldiron('worker', built(), '--arch', 'vax')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('--arch: not a supported architecture'),
    });
    expect(coldiron('worker', '/nonexistent')).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('bzImage: does not exist'),
    });
  });
});
