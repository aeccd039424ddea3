// Sends a file, or the requested range of it, at the pace of the client.

import type { ServerResponse } from 'node:http';
import type { Asset } from '../../assets/asset.ts';
import { ColdironError } from '../../domain/errors.ts';
import { entityTag, selectBytes } from './asset-selection.ts';
import { type BootExchange, sendBootError } from './exchange.ts';
import type { BorrowedFile, FileBytes } from './file-bytes.ts';
import { ownDescriptor, sendFromMemory } from './send-file.ts';

export interface Sent {
  readonly status: number;
  /** The first byte, the number of bytes that the kernel accepted, and the number requested. */
  readonly from: number;
  readonly bytes: number;
  readonly of: number;
  readonly complete: boolean;
}

/** null: the response has no file content (HEAD, not modified, refused). */
export async function sendAsset(exchange: BootExchange, asset: Asset, files: FileBytes): Promise<Sent | null> {
  const { request, response } = exchange;
  const etag = entityTag(asset.sha256);
  const shared = { 'Accept-Ranges': 'bytes', ETag: etag };
  const selection = selectBytes(request.method ?? '', request.headers, asset.size, etag);
  if (!('start' in selection)) {
    sendNothing(exchange, asset, selection.status, shared);
    return null;
  }
  const { status, start, end } = selection;
  const headers = {
    ...shared,
    'Content-Type': asset.contentType,
    'Content-Length': end - start,
    ...(status === 206 && { 'Content-Range': `bytes ${start}-${end - 1}/${asset.size}` }),
  };
  if (request.method === 'HEAD') {
    response.writeHead(status, headers).end();
    return null;
  }
  const file = await files.borrow(asset, end - start);
  try {
    response.writeHead(status, headers);
    const bytes = await sendRange(response, file, start, end);
    const complete = bytes === end - start && !response.destroyed;
    if (complete) response.end();
    return { status, from: start, bytes, of: end - start, complete };
  } catch (error) {
    // Content-Length was already sent: only a closed connection tells the client that the body is incomplete.
    response.destroy();
    throw error;
  } finally {
    file.release();
  }
}

function sendNothing(
  exchange: BootExchange,
  asset: Asset,
  status: 304 | 412 | 416,
  shared: Record<string, string>,
): void {
  if (status === 304) {
    exchange.response.writeHead(304, shared).end();
    return;
  }
  const why = status === 412 ? 'is not the version that If-Match names' : 'has no such range';
  const headers = status === 412 ? shared : { ...shared, 'Content-Range': `bytes */${asset.size}` };
  sendBootError(exchange, new ColdironError('invalid_request', `${asset.name} ${why}`), { status, headers });
}

function sendRange(response: ServerResponse, file: BorrowedFile, start: number, end: number): Promise<number> {
  const socket = file.memory && ownDescriptor(response);
  return file.memory === null || socket === null
    ? sendSlices(response, file.slices(start, end))
    : sendFromMemory(response, socket, file.memory, start, end);
}

/** How many bytes the kernel accepted before the end, or before the client disconnected. */
async function sendSlices(response: ServerResponse, slices: AsyncGenerator<Buffer>): Promise<number> {
  let sent = 0;
  let gone = response.destroyed;
  let wake: () => void = () => undefined;
  const onClose = (): void => {
    gone = true;
    wake();
  };
  response.once('close', onClose);
  try {
    for await (const slice of slices) {
      if (gone) break;
      await new Promise<void>((resolve) => {
        wake = resolve;
        response.write(slice, (error) => {
          if (!error) sent += slice.length;
          // A fast reader would take one slice after the other in the same event-loop turn and starve other clients.
          setImmediate(resolve);
        });
      });
      if (gone) break;
    }
    return sent;
  } finally {
    response.off('close', onClose);
  }
}
