// A boot file is compared whole with the file that was placed, whenever the library is read.

import { truncateSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isUsable } from '../../appliance/assets/asset.ts';
import { AvailableImages } from '../../appliance/assets/available-images.ts';
import { damageOf } from '../../appliance/assets/file-damage.ts';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { placeFile } from '../../appliance/assets/place-file.ts';
import { setAuthority } from '../../appliance/assets/service-os/authority.ts';
import { imageFor } from '../../appliance/boot/boot-images.ts';
import { bzImage, put, temporaryFolder } from './tiny-files.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const INITRD = 'images/service-os-x86_64/initrd';
const KERNEL = 'images/service-os-x86_64/kernel';
const SERVICE_OS = imageFor({ kind: 'service-os' }, 'x86_64', null);

async function placed(): Promise<string> {
  const folder = temporaryFolder();
  const source = temporaryFolder();
  const files = { [KERNEL]: bzImage(1), [INITRD]: Buffer.concat([Buffer.from('070701'), Buffer.alloc(100_000, 7)]) };
  for (const [name, bytes] of Object.entries(files)) {
    const entry = { name, firmware: null, architecture: 'x86_64', licence: null } as const;
    const debian = { kind: 'debian', package: 'linux', architecture: 'amd64', path: '/' } as const;
    await placeFile(folder, { ...entry, source: debian }, { title: 'Debian 12' }, put(source, name, bytes));
  }
  return folder;
}

const damageIn = async (folder: string): Promise<Record<string, string>> => {
  const library = await AssetLibrary.open(folder);
  return Object.fromEntries(library.list().flatMap(({ name, damage }) => (damage ? [[name, damage.words]] : [])));
};

describe('a boot file in the library', () => {
  it('is sound as it was placed, also with the authorities that the appliance appended', async () => {
    const folder = await placed();
    expect(await damageIn(folder)).toEqual({});
    expect(await setAuthority(join(folder, INITRD), PEM)).toBe(true);
    expect(await damageIn(folder)).toEqual({});
    // From the index of checksums.
    expect(await damageIn(folder)).toEqual({});
  });

  it('is damaged when its end is missing, although its beginning is right', async () => {
    const folder = await placed();
    truncateSync(join(folder, INITRD), 50_000);
    const words = 'has changed since it was taken from Debian 12 (it has 50000 of 100006 bytes)';
    expect(await damageIn(folder)).toEqual({ [INITRD]: words });
    // The appliance appends its authorities to whatever is there.
    await setAuthority(join(folder, INITRD), PEM);
    expect(await damageIn(folder)).toEqual({ [INITRD]: words });
    const library = await AssetLibrary.open(folder);
    expect(isUsable(library.find(INITRD))).toBe(false);
    expect(new AvailableImages(library).find(SERVICE_OS)).toEqual({
      ok: false,
      reason: `a sound ${INITRD} (the one there ${words})`,
    });
  });

  it('is damaged when one byte in its middle is another one, and sound when that is put back', async () => {
    const folder = await placed();
    const write = async (byte: number): Promise<void> => {
      await using handle = await open(join(folder, INITRD), 'r+');
      await handle.write(Uint8Array.of(byte), 0, 1, 60_000);
    };
    await write(8);
    expect(Object.keys(await damageIn(folder))).toEqual([INITRD]);
    await write(7);
    expect(await damageIn(folder)).toEqual({});
  });

  it('is not called damaged without a record of its source', async () => {
    const folder = await placed();
    put(folder, 'images/own/disk.raw', 'whatever');
    writeFileSync(join(folder, 'origins.json'), '{}');
    truncateSync(join(folder, INITRD), 10);
    expect(await damageIn(folder)).toEqual({});
  });
});

describe('the record of a file', () => {
  const sums = { whole: 'b', built: 'b', builtBytes: 1 };
  it('matches the file that is being replaced until the new one is in its place', () => {
    const origin = { sha256: 'a', from: 'Debian 12', bytes: 1 };
    expect(damageOf({ source: undefined, origin }, sums)).not.toBeNull();
    expect(damageOf({ source: undefined, origin: { ...origin, replaces: 'b' } }, sums)).toBeNull();
    expect(damageOf({ source: undefined, origin: { ...origin, replaces: 'c' } }, sums)).not.toBeNull();
  });

  it('is not needed for a file whose checksum the manifest declares', () => {
    const source = { kind: 'url', url: 'https://example.com/x', sha256: 'a' } as const;
    expect(damageOf({ source, origin: undefined }, sums)).toEqual({
      words: 'does not match the declared checksum (sha256 b)',
      restore: 'fetch',
    });
    expect(damageOf({ source: { ...source, sha256: 'b' }, origin: undefined }, sums)).toBeNull();
  });
});
