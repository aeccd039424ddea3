// Profiles with images that are installed in seconds, in addition to the rig's.

import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { zstdCompressSync } from 'node:zlib';
import { dump, load } from 'js-yaml';
import type { InventoryDocument } from '../../appliance/inventory/schema.ts';
import { SERVER_ADDRESS } from '../../appliance/lab/rack/addresses.ts';
import { ROOT_AT, tinyImage } from '../lab/rack/service-os-image.ts';
import { sha256 } from '../lab/rack/service-os-session.ts';

const MEBIBYTE = 1024 * 1024;
/** Incompressible, so that there are packets to lose. */
const NOISE = MEBIBYTE;
/** On a slow link it takes long enough to write that a fault can be injected meanwhile (`TroubledMachine.whileWriting`). */
const LONG = 64 * MEBIBYTE;

export const WRONG_SUM = 'ab'.repeat(32);

/**
 * tiny: a mebibyte to fetch, 24 to write; its checksum is returned. long: 64 of both. mistyped: the tiny one with a wrong
 * checksum. The returned file also has the rack's own inventory, as changed by `change`.
 */
export async function withTinyProfiles(
  written: string,
  change: (inventory: InventoryDocument) => InventoryDocument = (inventory) => inventory,
): Promise<{ readonly file: string; readonly sum: string }> {
  const folder = join(dirname(written), '../assets/images');
  const image = tinyImage();
  // After the partitions, in unused space.
  randomBytes(NOISE).copy(image, ROOT_AT + 16 * MEBIBYTE);
  const tiny = zstdCompressSync(image);
  const long = Buffer.concat([image, Buffer.alloc(LONG - image.length)]);
  for (const [name, bytes] of [
    ['tiny/disk.raw.zst', tiny],
    ['long/disk.raw', long],
  ] as const) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), bytes);
  }
  const profile = (name: string, source: string, sum: string) => ({
    // Its machines are put into their state, and were never commissioned.
    ...{ name, kind: 'cloud-image' as const, locale: 'C.UTF-8', identity: 'asserted' as const },
    image: { source, sha256: sum },
  });
  const sum = sha256(tiny);
  const profiles = [
    profile('tiny', 'images/tiny/disk.raw.zst', sum),
    profile('long', 'images/long/disk.raw', sha256(long)),
    profile('mistyped', `http://${SERVER_ADDRESS}:8080/boot/tiny/disk.raw.zst`, WRONG_SUM),
  ];
  const inventory = load(await readFile(written, 'utf8')) as InventoryDocument;
  const file = join(dirname(written), 'with-profiles.yaml');
  await writeFile(file, dump(change({ ...inventory, profiles })));
  return { file, sum };
}
