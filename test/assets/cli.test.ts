import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PE_MACHINE, peFile, put, temporaryFolder } from './tiny-files.ts';

const ROOT = join(import.meta.dirname, '../..');
const coldiron = (...args: string[]) => spawnSync(join(ROOT, 'coldiron'), args, { cwd: ROOT, encoding: 'utf8' });

describe('coldiron assets', () => {
  it('lists the files that are served, and the files that are not', () => {
    const state = temporaryFolder();
    expect(coldiron('assets', 'list', '--state', state).stdout).toContain('coldiron assets build');
    put(state, 'assets/loader/snponly.efi', peFile(PE_MACHINE.x86_64));
    put(state, 'assets/loader/ipxe.efi', peFile(PE_MACHINE.arm64));
    const { assets, problems } = JSON.parse(coldiron('assets', 'list', '--state', state, '--json').stdout);
    expect(assets.map(({ name }: { name: string }) => name)).toEqual(['snponly.efi']);
    expect(problems).toEqual(['ipxe.efi: must be an EFI program for x86_64, is an EFI program for arm64']);
    expect(coldiron('assets', 'verify', '--state', state)).toMatchObject({
      status: 5,
      stdout: expect.stringContaining('undionly.kpxe is missing: no loader for 0 (x86 BIOS)'),
      stderr: expect.stringContaining('must be an EFI program for x86_64'),
    });
  });

  it('says how each file was verified', () => {
    const state = temporaryFolder();
    put(state, 'assets/loader/snponly.efi', peFile(PE_MACHINE.x86_64));
    expect(coldiron('assets', 'verify', '--state', state).stdout).toContain(
      'snponly.efi: its source is not recorded, and the manifest does not list it',
    );
  });

  it('rejects a name that the manifest does not have, and fetches nothing when nothing is declared', () => {
    const state = temporaryFolder();
    expect(coldiron('assets', 'build', 'snponly.ef', '--state', state)).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('snponly.ef: no such boot file (did you mean snponly.efi?)'),
    });
    expect(coldiron('assets', 'fetch', '--state', state)).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('Nothing to do'),
    });
  });
});
