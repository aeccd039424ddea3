// Fetches one file from our own servers as a machine does, and compares it with what is expected.

import { createHash } from 'node:crypto';
import { type Asset, assetInWords, headOf } from '../../assets/asset.ts';
import { detectFileType, fileTypeInWords, TYPE_HEAD_BYTES } from '../../assets/file-type.ts';
import type { BootEndpoint, ExpectedFetch } from './expected-fetches.ts';
import { type Fetched, tftpFetch } from './tftp-fetch.ts';
import { Unreachable } from './unreachable.ts';

export interface FetchOptions {
  /** Mark the request as our own, so that it does not count as a boot. */
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
}

/** The problem in words; null: a machine gets what is expected. Rejects with Unreachable when the server does not answer. */
export async function checkFetch(fetched: ExpectedFetch, options: FetchOptions): Promise<string | null> {
  const { via, at, path, expect } = fetched;
  const whole = (): Promise<Uint8Array> =>
    via === 'http' ? wholeOverHttp(at, path, options) : overTftp(at, path, options).then(({ bytes }) => bytes);
  switch (expect.kind) {
    case 'whole':
      return otherBytes(expect.asset, await whole());
    case 'text':
      return otherText(expect, Buffer.from(await whole()).toString('utf8'));
    case 'beginning': {
      const begins =
        via === 'http'
          ? await beginningOverHttp(at, path, expect.asset, options)
          : await overTftp(at, path, options, TYPE_HEAD_BYTES);
      return typeof begins === 'string' ? begins : await otherBeginning(expect.asset, begins);
    }
  }
}

async function get(
  at: BootEndpoint,
  path: string,
  options: FetchOptions,
  more: Record<string, string> = {},
): Promise<Response> {
  const answer = await fetch(`http://${at.address}:${at.port}${path}`, {
    headers: { ...options.headers, ...more },
    signal: AbortSignal.timeout(options.timeoutMs),
  }).catch((error: Error) => {
    // fetch wraps the cause in "fetch failed".
    throw new Unreachable(error.cause instanceof Error ? error.cause.message : error.message);
  });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer;
}

const wholeOverHttp = async (at: BootEndpoint, path: string, options: FetchOptions): Promise<Uint8Array> =>
  new Uint8Array(await (await get(at, path, options)).arrayBuffer());

async function overTftp(at: BootEndpoint, name: string, { timeoutMs }: FetchOptions, most?: number): Promise<Fetched> {
  return tftpFetch(at, name, { timeoutMs, ...(most !== undefined && { most }) });
}

/** A string: the problem with the headers. */
async function beginningOverHttp(
  at: BootEndpoint,
  path: string,
  asset: Asset,
  options: FetchOptions,
): Promise<Fetched | string> {
  const answer = await get(at, path, options, { range: `bytes=0-${TYPE_HEAD_BYTES - 1}` });
  if (answer.headers.get('etag') !== `"${asset.sha256}"`)
    return 'is served with a checksum other than the one in the library';
  const size = /\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1] ?? answer.headers.get('content-length');
  return { size: Number(size), bytes: new Uint8Array(await answer.arrayBuffer()) };
}

function otherBytes(asset: Asset, bytes: Uint8Array): string | null {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 === asset.sha256) return null;
  return `got ${bytes.length} bytes that differ from the file in the library (${asset.size} bytes)`;
}

async function otherBeginning(asset: Asset, { size, bytes: head }: Fetched): Promise<string | null> {
  if (size !== asset.size) return `is served with ${size ?? 'an unknown number of'} bytes instead of ${asset.size}`;
  if (!Buffer.from(head).equals(await headOf(asset.file)))
    return 'does not begin with the same bytes as the file in the library';
  // A disk image has no fixed beginning.
  if (asset.kind === 'disk') return null;
  const type = detectFileType(head);
  const isRight = type.kind === asset.kind && (!('cpu' in type) || type.cpu === asset.architecture);
  return isRight ? null : `is served as ${fileTypeInWords(type)} instead of ${assetInWords(asset)}`;
}

function otherText(
  { begins, names }: { readonly begins: string; readonly names: string },
  text: string,
): string | null {
  if (!text.startsWith(begins)) return `does not begin with ${begins.trim()}`;
  return text.includes(names) ? null : `does not contain ${names}`;
}
