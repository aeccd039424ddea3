import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { fetchAssets } from '../../appliance/assets/fetch.ts';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { type ManifestEntry, readManifests } from '../../appliance/assets/manifest.ts';
import { verifyAssets } from '../../appliance/assets/verify.ts';
import { PE_MACHINE, peFile, put, temporaryFolder } from './tiny-files.ts';

const LOADER = peFile(PE_MACHINE.x86_64);
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

async function served(body: Uint8Array): Promise<{ url: string; requests: () => number }> {
  let requests = 0;
  const server = createServer((request, response) => {
    requests += 1;
    if (request.url !== '/ipxe.efi') response.writeHead(404);
    response.end(body);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/ipxe.efi`, requests: () => requests };
}

const entry = (url: string, sum: string): ManifestEntry => ({
  name: 'ipxe.efi',
  firmware: 'efi',
  architecture: 'x86_64',
  licence: null,
  source: { kind: 'url', url, sha256: sum },
});

describe('fetching boot files', () => {
  it('puts a file with the right checksum into the library, readable, and fetches it only once', async () => {
    const folder = join(temporaryFolder(), 'state', 'assets');
    const { url, requests } = await served(LOADER);
    const lines: string[] = [];
    const first = await fetchAssets(folder, [entry(url, sha256(LOADER))], (line) => lines.push(line));
    const again = await fetchAssets(folder, [entry(url, sha256(LOADER))], (line) => lines.push(line));
    expect(first).toEqual({
      placed: [{ name: 'ipxe.efi', sha256: sha256(LOADER), from: url, unchanged: false }],
      failed: [],
    });
    expect(again.placed[0]?.unchanged).toBe(true);
    expect(requests()).toBe(1);
    expect(lines).toEqual([`ipxe.efi: fetching ${url}`, 'ipxe.efi: already present']);
    const file = join(folder, 'loader/ipxe.efi');
    expect(readFileSync(file).equals(LOADER)).toBe(true);
    const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
    expect([file, join(folder, 'loader'), folder, join(folder, '..')].map(modeOf)).toEqual([
      '644',
      '755',
      '755',
      '700',
    ]);
  });

  it.each([
    ['another checksum', (url: string) => entry(url, 'a'.repeat(64)), LOADER, 'is declared'],
    [
      'the right checksum of a wrong program',
      (url: string) => entry(url, sha256(peFile(PE_MACHINE.arm64))),
      peFile(PE_MACHINE.arm64),
      'must be an EFI program for x86_64',
    ],
    ['a server that has no such file', (url: string) => entry(`${url}x`, sha256(LOADER)), LOADER, 'answered 404'],
    [
      'a server that does not listen',
      () => entry('http://127.0.0.1:1/x', sha256(LOADER)),
      LOADER,
      'http://127.0.0.1:1/x: ',
    ],
  ])('leaves nothing behind on %s', async (_what, entryFor, body, words) => {
    const folder = temporaryFolder();
    const { url } = await served(body);
    const { placed, failed } = await fetchAssets(folder, [entryFor(url)], () => undefined);
    expect(placed).toEqual([]);
    expect(failed[0]?.reason).toContain(words);
    expect(existsSync(join(folder, 'loader/ipxe.efi'))).toBe(false);
    expect(readdirSync(folder, { recursive: true }).filter((name) => String(name).includes('.'))).toEqual([]);
  });
});

describe('verifying boot files', () => {
  const verified = async (folder: string, entries: readonly ManifestEntry[]) =>
    verifyAssets(folder, entries, await AssetLibrary.open(folder));

  it('finds a file that has changed since it was fetched, and one on a failing disk', async () => {
    const folder = temporaryFolder();
    const { url } = await served(LOADER);
    const entries = [entry(url, sha256(LOADER))];
    await fetchAssets(folder, entries, () => undefined);
    put(folder, 'images/a/disk', 'bytes');
    expect(await verified(folder, entries)).toMatchObject({ sound: 2, problems: [] });

    writeFileSync(join(folder, 'loader/ipxe.efi'), peFile(PE_MACHINE.x86_64, 0x100));
    const library = await AssetLibrary.open(folder);
    const disk = library.find('images/a/disk');
    if (!disk) throw new Error('the image is in the library');
    writeFileSync(disk.file, 'other');
    const { sound, problems } = await verifyAssets(folder, entries, library);
    expect(sound).toBe(0);
    expect(problems).toEqual([
      expect.stringContaining('ipxe.efi: does not match the declared checksum'),
      'images/a/disk: its content has changed while its size and modification time have not: the disk may be failing',
    ]);
  });

  it('says how each file out of a package is verified, and finds one that does not match a checksum listed later', async () => {
    const folder = temporaryFolder();
    const debian = (name: string, sums: Record<string, string>): ManifestEntry => ({
      ...entry('', ''),
      name,
      source: { kind: 'debian', package: 'ipxe', architecture: null, path: '/x', sums: new Map(Object.entries(sums)) },
    });
    const names = ['ipxe.efi', 'snponly.efi', 'shimx64.efi', 'grubx64.efi'];
    for (const name of names) put(folder, `loader/${name}`, LOADER);
    const origin = (version?: string) => ({ sha256: sha256(LOADER), from: `Debian ipxe ${version}`, version });
    const origins = { 'snponly.efi': origin('2.0'), 'grubx64.efi': origin('2.0') };
    writeFileSync(join(folder, 'origins.json'), JSON.stringify(origins));
    const { loaders, problems } = await verified(folder, [
      debian('ipxe.efi', { '1.0': sha256(LOADER) }),
      debian('snponly.efi', { '1.0': 'a'.repeat(64) }),
      debian('shimx64.efi', {}),
      debian('grubx64.efi', { '2.0': 'a'.repeat(64) }),
    ]);
    expect(Object.fromEntries(loaders.map(({ name, by }) => [name, by]))).toEqual({
      'ipxe.efi': 'listed',
      'snponly.efi': 'unlisted',
      'shimx64.efi': 'unknown',
    });
    expect(problems).toEqual([
      expect.stringContaining('grubx64.efi: does not match the checksum that the manifest lists for Debian ipxe 2.0'),
    ]);
  });

  it('reports which architectures have no loader', async () => {
    const { missing } = await verified(temporaryFolder(), await readManifests(null));
    expect(missing.map(({ file }) => file)).toContain('arm64-efi/snponly.efi');
  });
});
