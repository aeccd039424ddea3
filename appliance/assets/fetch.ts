// `coldiron assets fetch`: downloads files that a site declared with a URL and a checksum. A file that does not match is never
// published.

import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream } from 'node:stream/web';
import { ColdironError } from '../domain/errors.ts';
import { assetFile } from './asset-name.ts';
import type { Gathered } from './build.ts';
import { sha256OfFile } from './checksums.ts';
import type { ManifestEntry } from './manifest.ts';
import { makeFolders, type Placed, placeFile } from './place-file.ts';

/** A server that sends no data for this long counts as failed. */
const STALLED_AFTER_MS = 60_000;

export async function fetchAssets(
  folder: string,
  entries: readonly ManifestEntry[],
  say: (line: string) => void,
): Promise<Gathered> {
  const placed: Placed[] = [];
  const failed: Gathered['failed'][number][] = [];
  // In the library's file system: an image may be larger than /tmp.
  await makeFolders(folder, folder);
  const scratch = await mkdtemp(join(folder, '.fetch-'));
  try {
    for (const [at, entry] of entries.entries()) {
      const { name, source } = entry;
      if (source.kind !== 'url') continue;
      const { url, sha256 } = source;
      if ((await sha256OfFile(assetFile(folder, name)).catch(() => null)) === sha256) {
        say(`${name}: already present`);
        placed.push({ name, sha256, from: url, unchanged: true });
        continue;
      }
      try {
        say(`${name}: fetching ${url}`);
        const download = join(scratch, String(at));
        await fetchTo(download, url);
        placed.push(await placeFile(folder, entry, { title: url }, download));
        await rm(download);
      } catch (error) {
        if (!(error instanceof ColdironError)) throw error;
        say(`${name}: cannot be fetched: ${error.message}`);
        failed.push({ name, reason: error.message });
      }
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  return { placed, failed };
}

async function fetchTo(file: string, url: string): Promise<void> {
  const stalled = new AbortController();
  const stallTimer = setTimeout(() => stalled.abort(new Error('no data received for 60 seconds')), STALLED_AFTER_MS);
  try {
    const response = await fetch(url, { signal: stalled.signal });
    if (!response.ok || response.body === null) throw new Error(`the server answered ${response.status}`);
    const body = Readable.fromWeb(response.body as ReadableStream<Uint8Array>);
    body.on('data', () => stallTimer.refresh());
    await pipeline(body, createWriteStream(file, { mode: 0o600 }), { signal: stalled.signal });
  } catch (error) {
    const { message, cause } = error as Error;
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
    throw new ColdironError('service_unavailable', `${url}: ${reason}`);
  } finally {
    clearTimeout(stallTimer);
  }
}
