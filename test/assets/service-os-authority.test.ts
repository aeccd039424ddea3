// The authorities that are appended to the initrds of the service OS: replaced, removed, left alone, and never half written.

import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setImmediate, setTimeout } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import type { ManifestEntry } from '../../appliance/assets/manifest.ts';
import { placeFile } from '../../appliance/assets/place-file.ts';
import {
  authorityIn,
  authorityPart,
  placeAuthority,
  setAuthority,
  sha256AsBuilt,
} from '../../appliance/assets/service-os/authority.ts';
import { verifyAssets } from '../../appliance/assets/verify.ts';
import { needPackages } from '../interop/packages.ts';
import { fakeAuthority } from './fake-session.ts';
import { temporaryFolder } from './tiny-files.ts';

const NAME = 'images/service-os-x86_64/initrd';
const ONE = fakeAuthority().pem;
const TWO = fakeAuthority().pem;
/** Not a multiple of four, like most. */
const BUILT = Buffer.concat([zstdCompressSync(randomBytes(1000)), Buffer.of(1)]);
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

beforeAll(() => needPackages(['cpio']));

function library(built = BUILT): { folder: string; file: string } {
  const folder = temporaryFolder();
  const file = join(folder, NAME);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, built);
  return { folder, file };
}

describe('the authorities in the initrd', () => {
  it('are an archive at a multiple of four that cpio unpacks', async () => {
    const { folder, file } = library();
    expect(await placeAuthority(folder, ONE)).toEqual([NAME]);
    const bytes = readFileSync(file);
    expect(bytes.subarray(0, BUILT.length).equals(BUILT)).toBe(true);
    const start = Math.ceil(BUILT.length / 4) * 4;
    expect(bytes.subarray(BUILT.length, start).every((byte) => byte === 0)).toBe(true);
    const { stdout } = spawnSync('cpio', ['--extract', '--to-stdout', '--quiet', 'service-os/authority.pem'], {
      input: bytes.subarray(start),
      encoding: 'utf8',
    });
    expect(stdout).toBe(ONE);
    expect(await authorityIn(file)).toBe(ONE);
  });

  it('are left alone when they are right, replaced during a rotation, and removed', async () => {
    const { folder, file } = library();
    await placeAuthority(folder, ONE);
    const before = statSync(file, { bigint: true });
    expect(await placeAuthority(folder, ONE)).toEqual([]);
    expect(statSync(file, { bigint: true })).toMatchObject({ ino: before.ino, mtimeNs: before.mtimeNs });
    for (const pem of [ONE + TWO, TWO + ONE, TWO]) {
      expect(await placeAuthority(folder, pem)).toEqual([NAME]);
      expect(readFileSync(file).equals(Buffer.concat([BUILT, authorityPart(BUILT.length, pem)]))).toBe(true);
    }
    expect(await placeAuthority(folder, null)).toEqual([NAME]);
    expect(readFileSync(file).equals(BUILT)).toBe(true);
    expect(await placeAuthority(folder, null)).toEqual([]);
    expect(statSync(file).mode & 0o777).toBe(0o644);
    expect(readdirSync(dirname(file))).toEqual(['initrd']);
  });

  it('need no initrd', async () => {
    expect(await placeAuthority(temporaryFolder(), ONE)).toEqual([]);
  });

  it('are replaced in a file of any size, whatever it contains', async () => {
    const { folder, file } = library();
    const lookalike = authorityPart(4, TWO);
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 2000 }),
      // A part that belongs to the built file: another length, or changed.
      fc.constantFrom(lookalike, Buffer.concat([Buffer.alloc(7), lookalike]), lookalike.subarray(0, -5)),
    );
    await fc.assert(
      fc.asyncProperty(content, async (bytes) => {
        writeFileSync(file, bytes);
        await placeAuthority(folder, ONE);
        await placeAuthority(folder, TWO);
        expect(await authorityIn(file)).toBe(TWO);
        await placeAuthority(folder, null);
        expect(Buffer.from(readFileSync(file)).equals(Buffer.from(bytes))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  it('do not replace a file that another process has just placed', async () => {
    const { file } = library(randomBytes(32 * 1024 * 1024));
    const fresh = Buffer.from('newly built');
    writeFileSync(`${file}.other`, fresh);
    const placing = setAuthority(file, ONE);
    while (!existsSync(join(dirname(file), '.initrd.authority'))) await setImmediate();
    renameSync(`${file}.other`, file);
    await placing;
    expect(readFileSync(file).equals(Buffer.concat([fresh, authorityPart(fresh.length, ONE)]))).toBe(true);
  });

  it('are old or new after a crash, never half of both', async () => {
    const built = randomBytes(8 * 1024 * 1024 + 1);
    const { folder, file } = library(built);
    const module = join(import.meta.dirname, '../../appliance/assets/service-os/authority.ts');
    const loop = `import { placeAuthority } from ${JSON.stringify(module)};
      const [one, two] = ${JSON.stringify([ONE, TWO])};
      process.stdout.write('ready');
      for (;;) { await placeAuthority(${JSON.stringify(folder)}, one); await placeAuthority(${JSON.stringify(folder)}, two); }`;
    for (let crash = 0; crash < 8; crash += 1) {
      const writer = spawn(process.execPath, ['--input-type=module-typescript', '-e', loop], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(writer, 'close');
      await once(writer.stdout, 'data');
      await setTimeout(crash * 7);
      writer.kill('SIGKILL');
      await ended;
      const bytes = readFileSync(file);
      const whole = ['', ONE, TWO].map((pem) =>
        pem === '' ? built : Buffer.concat([built, authorityPart(built.length, pem)]),
      );
      expect(whole.some((expected) => expected.equals(bytes))).toBe(true);
      const served = await AssetLibrary.open(folder);
      expect(served.list().map(({ name }) => name)).toEqual([NAME]);
      expect(served.problems()).toEqual([]);
    }
    // What the crash left is hidden, and the next run removes it.
    await placeAuthority(folder, ONE + TWO);
    expect(await authorityIn(file)).toBe(ONE + TWO);
    expect(readdirSync(dirname(file))).toEqual(['initrd']);
  });
});

describe('the library with authorities in the initrd', () => {
  const entry = (sum: string | null): ManifestEntry => ({
    name: NAME,
    firmware: null,
    architecture: 'x86_64',
    licence: null,
    source:
      sum === null
        ? { kind: 'debian', package: 'linux-image-amd64', architecture: 'amd64', path: '/' }
        : { kind: 'url', url: 'http://127.0.0.1/initrd', sha256: sum },
  });

  it('counts the file as unchanged, verifies it, and knows its checksum as it is served', async () => {
    const { folder, file } = library();
    const built = join(folder, 'built');
    writeFileSync(built, BUILT);
    await placeFile(folder, entry(null), { title: 'a build' }, built);
    await placeAuthority(folder, ONE);
    const again = await placeFile(folder, entry(null), { title: 'a build' }, built);
    expect(again).toMatchObject({ unchanged: true, sha256: sha256(BUILT) });
    expect(await authorityIn(file)).toBe(ONE);
    const served = await AssetLibrary.open(folder);
    expect(served.find(NAME)).toMatchObject({ sha256: sha256(readFileSync(file)), size: statSync(file).size });
    expect(await verifyAssets(folder, [], served)).toMatchObject({ sound: 1, problems: [] });
    expect(await sha256AsBuilt(NAME, file)).toBe(sha256(BUILT));
    writeFileSync(file, Buffer.concat([BUILT.subarray(0, -1), authorityPart(BUILT.length - 1, ONE)]));
    const changed = await verifyAssets(folder, [], await AssetLibrary.open(folder));
    expect(changed.problems).toEqual([expect.stringContaining('has changed since it was taken from a build')]);
  });

  it('accepts no download with authorities in place of the declared file', async () => {
    const { folder } = library();
    const downloaded = join(folder, 'downloaded');
    writeFileSync(downloaded, Buffer.concat([BUILT, authorityPart(BUILT.length, TWO)]));
    await expect(placeFile(folder, entry(sha256(BUILT)), { title: 'a server' }, downloaded)).rejects.toThrow(
      /is declared/,
    );
  });
});
