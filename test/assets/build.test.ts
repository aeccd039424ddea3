import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { checkBootContract } from '../../appliance/assets/boot-contract.ts';
import { buildAssets } from '../../appliance/assets/build.ts';
import { installedPackage } from '../../appliance/assets/debian-packages.ts';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { type ManifestEntry, readManifests } from '../../appliance/assets/manifest.ts';
import { readOrigins } from '../../appliance/assets/place-file.ts';
import { verifyAssets } from '../../appliance/assets/verify.ts';
import { needPackages } from '../interop/packages.ts';
import { PE_MACHINE, peFile, put, temporaryFolder } from './tiny-files.ts';

// Downloads packages in the first run.
vi.setConfig({ testTimeout: 900_000 });

const foreignArchitectures = () => spawnSync('dpkg', ['--print-foreign-architectures'], { encoding: 'utf8' }).stdout;

describe('building boot files from Debian packages', () => {
  it('builds every loader of the manifest, arm64 ones included, and changes nothing on the host', async () => {
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

    // A package newer than the listed one is no error: the file is accepted, with a notice.
    const notListed = placed.filter(({ listed }) => !listed).map(({ name }) => name);
    expect(lines.filter((line) => line.includes('does not list this version'))).toHaveLength(notListed.length);

    const natives = entries.filter(({ source }) => source.kind === 'debian' && source.architecture === null);
    const again = await buildAssets(folder, natives, () => undefined);
    expect(again.placed.every(({ unchanged }) => unchanged)).toBe(true);
  });

  it('builds the other entries when one fails, and reports the reason', async () => {
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

  const installed = async (): Promise<string> =>
    (await installedPackage({ package: 'ipxe', architecture: null }))?.version ?? '';
  const SNPONLY = '/usr/lib/ipxe/snponly.efi';
  const snponly = (sums: Iterable<readonly [string, string]>): ManifestEntry => ({
    name: 'snponly.efi',
    firmware: 'efi',
    architecture: 'x86_64',
    licence: null,
    source: { kind: 'debian', package: 'ipxe', architecture: null, path: SNPONLY, sums: new Map(sums) },
  });

  it('rejects a file whose checksum is not the one listed for its version, and keeps the previous file', async () => {
    needPackages(['ipxe']);
    const folder = temporaryFolder();
    const before = put(folder, 'loader/snponly.efi', peFile(PE_MACHINE.x86_64));
    const { placed, failed } = await buildAssets(
      folder,
      [snponly([[await installed(), 'a'.repeat(64)]])],
      () => undefined,
    );
    expect(placed).toEqual([]);
    expect(failed[0]?.reason).toMatch(/from Debian ipxe .*: sha256 is [0-9a-f]{64}, but a{64} is declared$/);
    expect(readFileSync(before).equals(peFile(PE_MACHINE.x86_64))).toBe(true);
  });

  it('accepts a version that is not listed, says so, and records the version', async () => {
    needPackages(['ipxe']);
    const folder = temporaryFolder();
    const lines: string[] = [];
    const entries = [snponly([['0.9-1', 'a'.repeat(64)]])];
    const { placed } = await buildAssets(folder, entries, (line) => lines.push(line));
    expect(placed).toMatchObject([{ name: 'snponly.efi', listed: false }]);
    expect(lines).toContain('snponly.efi: the manifest does not list this version; apt verified its package');
    expect((await readOrigins(folder))['snponly.efi']).toMatchObject({ version: await installed() });
    const { loaders, problems } = await verifyAssets(folder, entries, await AssetLibrary.open(folder));
    expect(problems).toEqual([]);
    expect(loaders).toEqual([{ name: 'snponly.efi', by: 'unlisted', from: expect.stringContaining('Debian ipxe ') }]);
  });

  it('prints no notice for a listed version', async () => {
    needPackages(['ipxe']);
    const folder = temporaryFolder();
    const lines: string[] = [];
    const sum = createHash('sha256').update(readFileSync(SNPONLY)).digest('hex');
    const entries = [snponly([[await installed(), sum]])];
    const { placed } = await buildAssets(folder, entries, (line) => lines.push(line));
    expect(placed).toMatchObject([{ sha256: sum, listed: true }]);
    expect(lines).toHaveLength(1);
    const { loaders } = await verifyAssets(folder, entries, await AssetLibrary.open(folder));
    expect(loaders).toMatchObject([{ by: 'listed' }]);
  });
});
