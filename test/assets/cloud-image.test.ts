// The Debian image as a user builds it: with the command line, into a library, for a profile.

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CLOUD_IMAGE_NAME, CLOUD_IMAGE_PACKAGES } from '../../appliance/assets/cloud-image/build.ts';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { servedImage } from '../../appliance/provisioning/orders/served-image.ts';
import { needPackages } from '../interop/packages.ts';
import { temporaryFolder } from './tiny-files.ts';

const ROOT = join(import.meta.dirname, '../..');
const MINUTES = 60_000;
const assets = (...args: string[]) =>
  spawnSync(join(ROOT, 'coldiron'), ['assets', ...args], { cwd: ROOT, encoding: 'utf8' });

describe('coldiron assets build debian-12', () => {
  const state = mkdtempSync(join(tmpdir(), 'coldiron-test-'));
  let built: ReturnType<typeof assets>;

  // Taken from the cache if it was built before; the first build takes minutes.
  beforeAll(() => {
    needPackages(CLOUD_IMAGE_PACKAGES);
    built = assets('build', 'debian-12', '--state', state);
  }, 20 * MINUTES);

  afterAll(() => rmSync(state, { recursive: true, force: true }));

  it('adds one file to the library, and says what a profile must name', async () => {
    expect(built, built.stderr).toMatchObject({ status: 0 });
    const library = await AssetLibrary.open(join(state, 'assets'));
    expect(library.list().map(({ name }) => name)).toEqual([CLOUD_IMAGE_NAME]);
    const sha256 = library.find(CLOUD_IMAGE_NAME)?.sha256;
    expect(built.stdout).toContain(`image: { source: ${CLOUD_IMAGE_NAME}, sha256: ${sha256} }`);
  });

  it('is listed with its checksum, and verified', () => {
    expect(JSON.parse(assets('list', '--state', state, '--json').stdout)).toMatchObject({
      assets: [{ name: CLOUD_IMAGE_NAME, kind: 'disk', sha256: expect.stringMatching(/^[0-9a-f]{64}$/) }],
      problems: [],
    });
    const verified = assets('verify', '--state', state, '--json');
    expect(verified, verified.stderr).toMatchObject({ status: 0 });
    expect(JSON.parse(verified.stdout)).toMatchObject({ sound: 1, problems: [] });
  });

  it('is installed by a profile that names it, with or without the images/ folder', async () => {
    const library = await AssetLibrary.open(join(state, 'assets'));
    const server = { address: mustParse(parseIpv4('10.0.100.10')), bootPort: 8080 };
    const asset = library.find(CLOUD_IMAGE_NAME);
    for (const source of [CLOUD_IMAGE_NAME, 'debian-12/disk.raw.zst']) {
      const image = { source, sha256: asset?.sha256 ?? '', format: 'zstd' } as const;
      expect(servedImage(image, server, (name) => library.find(name))).toEqual({
        ok: true,
        value: {
          ...image,
          source: undefined,
          url: expect.stringMatching(/\/debian-12\/disk\.raw\.zst$/),
          bytes: asset?.size,
          unpackedBytes: expect.any(Number),
        },
      });
    }
  });

  it('comes from the cache the second time, with the same checksum', () => {
    const again = assets('build', 'images/debian-12', '--state', state);
    expect(again.stdout).toContain(`${CLOUD_IMAGE_NAME}: unchanged`);
  });
});

describe('a misspelled name of a built image', () => {
  it('is rejected with a suggestion', () => {
    expect(assets('build', 'debian-13', '--state', temporaryFolder())).toMatchObject({
      status: 2,
      stderr: expect.stringContaining('debian-13: no such boot file (did you mean debian-12?)'),
    });
  });
});
