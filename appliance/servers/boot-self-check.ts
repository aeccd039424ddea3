// Advertised = served, proven on the real servers: every boot file is fetched the way a machine fetches it, and what comes
// has to be what the library says it is. Loaders are fetched whole over both transports, of images the beginning.

import { createHash } from 'node:crypto';
import type { Asset } from '../assets/asset.ts';
import { detectFileType, HEAD_BYTES } from '../assets/file-type.ts';
import { ENTRY_SCRIPT_PATH, loaderPath } from '../policy/boot-paths.ts';
import { imagePath } from '../render/boot-images.ts';
import { tftpFetch } from './tftp/tftp-fetch.ts';

export interface ServedFrom {
  /** null: HTTP boot is off. */
  readonly http: { readonly address: string; readonly port: number } | null;
  readonly tftp: readonly { readonly address: string; readonly port: number }[];
}

const PATIENCE_MS = 5000;

/** What a machine would not get, one line each. Files of a few hundred kilobytes: it takes a second or two. */
export async function checkServed(assets: readonly Asset[], from: ServedFrom): Promise<string[]> {
  const problems: string[] = [];
  const attempt = async (what: string, check: () => Promise<string | null>): Promise<void> => {
    const problem = await check().catch((error: Error) => error.message);
    if (problem !== null) problems.push(`${what}: ${problem}`);
  };
  const origin =
    from.http && `http://${from.http.address === '0.0.0.0' ? '127.0.0.1' : from.http.address}:${from.http.port}`;
  if (origin) {
    await attempt(ENTRY_SCRIPT_PATH, async () => {
      const text = await (await get(`${origin}${ENTRY_SCRIPT_PATH}`)).text();
      return text.startsWith('#!ipxe') ? null : 'is not an iPXE script';
    });
  }
  for (const asset of assets) {
    const isLoader = asset.kind === 'efi' || asset.kind === 'bios';
    if (origin)
      await attempt(`${asset.name} over HTTP`, () =>
        isLoader ? wholeByHttp(origin, asset) : beginningByHttp(origin, asset),
      );
    for (const { address, port } of isLoader ? from.tftp : []) {
      await attempt(`${asset.name} over TFTP from ${address}`, async () =>
        compare(asset, await tftpFetch(address, port, asset.name, PATIENCE_MS)),
      );
    }
  }
  return problems;
}

async function get(url: string, headers: Record<string, string> = {}): Promise<Response> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer;
}

async function wholeByHttp(origin: string, asset: Asset): Promise<string | null> {
  return compare(asset, new Uint8Array(await (await get(`${origin}${loaderPath(asset.name)}`)).arrayBuffer()));
}

async function beginningByHttp(origin: string, asset: Asset): Promise<string | null> {
  const answer = await get(`${origin}${imagePath(asset.name)}`, { range: `bytes=0-${HEAD_BYTES - 1}` });
  const size = /\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1] ?? answer.headers.get('content-length');
  if (Number(size) !== asset.size) return `is served with ${size} bytes instead of ${asset.size}`;
  if (answer.headers.get('etag') !== `"${asset.sha256}"`)
    return 'is served with another checksum than the one in the library';
  // A disk begins with anything.
  if (asset.kind === 'disk') return null;
  const type = detectFileType(new Uint8Array(await answer.arrayBuffer()));
  return type.kind === asset.kind ? null : `is served as ${type.kind} instead of ${asset.kind}`;
}

function compare(asset: Asset, bytes: Uint8Array): string | null {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 !== asset.sha256)
    return `${bytes.length} bytes came, and they are not those of the library (${asset.size} bytes)`;
  return null;
}
