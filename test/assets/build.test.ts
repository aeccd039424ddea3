import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkBootContract } from '../../appliance/assets/boot-contract.ts';
import { buildAssets } from '../../appliance/assets/build.ts';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { type ManifestEntry, readManifests } from '../../appliance/assets/manifest.ts';
import { needPackages } from '../interop/packages.ts';
import { temporaryFolder } from './tiny-files.ts';

const foreignArchitectures = () => spawnSync('dpkg', ['--print-foreign-architectures'], { encoding: 'utf8' }).stdout;

describe('building boot files from Debian', () => {
  it('gathers every loader of the manifest, arm64 ones included, and changes nothing about the machine', async () => {
    needPackages(['ipxe']);
    const folder = temporaryFolder();
    const entries = await readManifests(null);
    const before = foreignArchitectures();
    const lines: string[] = [];
    const { placed, failed } = await buildAssets(folder, entries, (line) => lines.push(line));
    expect(failed).toEqual([]);
    expect(placed.map(({ name }) => name)).toEqual(entries.map(({ name }) => name));
    expect(foreignArchitectures()).toBe(before);

    const library = await AssetLibrary.open(folder);
    expect(library.problems()).toEqual([]);
    expect(library.find('undionly.kpxe')).toMatchObject({ kind: 'bios' });
    expect(library.find('grubaa64.efi')).toMatchObject({ kind: 'efi', architecture: 'arm64' });
    const installed = readFileSync('/usr/lib/ipxe/undionly.kpxe');
    expect(readFileSync(join(folder, 'loader/undionly.kpxe')).equals(installed)).toBe(true);
    const { problems, missing } = checkBootContract((name) => library.find(name));
    expect(problems).toEqual([]);
    expect(missing.map(({ file }) => file).filter((file) => !file.includes('/'))).toEqual([]);
    expect(lines).toContainEqual(expect.stringMatching(/^undionly\.kpxe: built, from Debian ipxe .* \(installed\)$/));

    const natives = entries.filter(({ source }) => source.kind === 'debian' && source.architecture === null);
    const again = await buildAssets(folder, natives, () => undefined);
    expect(again.placed.every(({ unchanged }) => unchanged)).toBe(true);
  });

  it('goes on with the others when one cannot be had, and says why', async () => {
    needPackages(['ipxe']);
    const folder = temporaryFolder();
    const wanted = (name: string, path: string, architecture: ManifestEntry['architecture']): ManifestEntry => ({
      name,
      firmware: 'efi',
      architecture,
      licence: null,
      source: { kind: 'debian', package: 'ipxe', architecture: null, path },
    });
    const { placed, failed } = await buildAssets(
      folder,
      [
        wanted('missing.efi', '/usr/lib/ipxe/no-such.efi', 'x86_64'),
        wanted('wrong.efi', '/usr/lib/ipxe/snponly.efi', 'arm64'),
        wanted('snponly.efi', '/usr/lib/ipxe/snponly.efi', 'x86_64'),
      ],
      () => undefined,
    );
    expect(placed.map(({ name }) => name)).toEqual(['snponly.efi']);
    expect(failed).toEqual([
      { name: 'missing.efi', reason: expect.stringContaining('has no file /usr/lib/ipxe/no-such.efi') },
      {
        name: 'wrong.efi',
        reason: expect.stringContaining('must be an EFI program for arm64, is an EFI program for x86_64'),
      },
    ]);
  });
});
