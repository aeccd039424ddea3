// One thing fetched from our own servers the way a machine fetches it, and whether what came is what it should be.

import { createHash } from 'node:crypto';
import { type Asset, assetInWords, headOf } from '../../assets/asset.ts';
import { detectFileType, fileTypeInWords, TYPE_HEAD_BYTES } from '../../assets/file-type.ts';
import type { BootEndpoint, ExpectedFetch } from './expected-fetches.ts';
import { type Fetched, tftpFetch } from './tftp-fetch.ts';

export interface FetchManners {
  /** What tells the boot server that nobody boots here. */
  readonly headers: Readonly<Record<string, string>>;
  readonly patienceMs: number;
}

/** Nobody answered: what else is asked there will not be answered either. */
export class NobodyThere extends Error {}

/** What a machine would not get, in words; null: it would get it. */
export async function checkFetch(fetched: ExpectedFetch, manners: FetchManners): Promise<string | null> {
  const { via, at, path, expect } = fetched;
  const whole = (): Promise<Uint8Array> =>
    via === 'http' ? wholeOverHttp(at, path, manners) : overTftp(at, path, manners).then(({ bytes }) => bytes);
  switch (expect.kind) {
    case 'whole':
      return otherBytes(expect.asset, await whole());
    case 'text':
      return otherText(expect, Buffer.from(await whole()).toString('utf8'));
    case 'beginning': {
      const begins =
        via === 'http'
          ? await beginningOverHttp(at, path, expect.asset, manners)
          : await overTftp(at, path, manners, TYPE_HEAD_BYTES);
      return typeof begins === 'string' ? begins : await otherBeginning(expect.asset, begins);
    }
  }
}

async function get(
  at: BootEndpoint,
  path: string,
  manners: FetchManners,
  more: Record<string, string> = {},
): Promise<Response> {
  const answer = await fetch(`http://${at.address}:${at.port}${path}`, {
    headers: { ...manners.headers, ...more },
    signal: AbortSignal.timeout(manners.patienceMs),
  }).catch((error: Error) => {
    // fetch wraps what happened in "fetch failed".
    throw new NobodyThere(error.cause instanceof Error ? error.cause.message : error.message);
  });
  if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
  return answer;
}

const wholeOverHttp = async (at: BootEndpoint, path: string, manners: FetchManners): Promise<Uint8Array> =>
  new Uint8Array(await (await get(at, path, manners)).arrayBuffer());

async function overTftp(at: BootEndpoint, name: string, { patienceMs }: FetchManners, most?: number): Promise<Fetched> {
  return tftpFetch(at, name, { patienceMs, ...(most !== undefined && { most }) }).catch((error: Error) => {
    throw error.message.startsWith('no answer') ? new NobodyThere(error.message) : error;
  });
}

/** A string: what is wrong with the headers already. */
async function beginningOverHttp(
  at: BootEndpoint,
  path: string,
  asset: Asset,
  manners: FetchManners,
): Promise<Fetched | string> {
  const answer = await get(at, path, manners, { range: `bytes=0-${TYPE_HEAD_BYTES - 1}` });
  if (answer.headers.get('etag') !== `"${asset.sha256}"`)
    return 'is served with another checksum than the one in the library';
  const size = /\/(\d+)$/.exec(answer.headers.get('content-range') ?? '')?.[1] ?? answer.headers.get('content-length');
  return { size: Number(size), bytes: new Uint8Array(await answer.arrayBuffer()) };
}

function otherBytes(asset: Asset, bytes: Uint8Array): string | null {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (sha256 === asset.sha256) return null;
  return `${bytes.length} bytes came, and they are not those of the library (${asset.size} bytes)`;
}

async function otherBeginning(asset: Asset, { size, bytes: head }: Fetched): Promise<string | null> {
  if (size !== asset.size) return `is served with ${size ?? 'no number of'} bytes instead of ${asset.size}`;
  if (!Buffer.from(head).equals(await headOf(asset.file)))
    return 'begins with other bytes than the file in the library';
  // A disk begins with anything.
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
  return text.includes(names) ? null : `does not lead to ${names}`;
}
