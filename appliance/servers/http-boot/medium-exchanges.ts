// Serves media to BMCs: whole, or in ranges, as BMCs that emulate a drive read them. The path is a secret, and is not logged.

import { ColdironError } from '../../domain/errors.ts';
import type { Fetched, SessionMedia } from '../../provisioning/media/session-media.ts';
import { entityTag, selectBytes } from './asset-selection.ts';
import { type BootExchange, sendBootError } from './exchange.ts';

/** Returns fields for the log line. */
export async function answerMedium(
  media: Pick<SessionMedia, 'fetch'>,
  exchange: BootExchange,
  name: string,
): Promise<object> {
  const { request, address } = exchange;
  const fetched = await media.fetch(name, address, request.method === 'GET');
  if (fetched.outcome === 'image') sendImage(exchange, fetched);
  else sendBootError(exchange, ANSWERS[fetched.outcome](), { headers: { Connection: 'close' } });
  return { medium: fetched.outcome };
}

const ANSWERS = {
  unknown: () => new ColdironError('not_found', 'there is no such medium'),
  // The same as for an unknown one: another host learns nothing.
  refused: () => new ColdironError('not_found', 'there is no such medium'),
  'too-often': () => new ColdironError('rate_limited', 'this medium was requested too often'),
} as const;

function sendImage({ request, response }: BootExchange, { image, name }: Fetched & { outcome: 'image' }): void {
  const etag = entityTag(name);
  const shared = { 'Accept-Ranges': 'bytes', ETag: etag, 'Cache-Control': 'no-store' };
  const selection = selectBytes(request.method ?? '', request.headers, image.length, etag);
  if (!('start' in selection)) {
    const range = selection.status === 416 ? { 'Content-Range': `bytes */${image.length}` } : {};
    response.writeHead(selection.status, { ...shared, ...range, 'Content-Length': 0 }).end();
    return;
  }
  const { status, start, end } = selection;
  response.writeHead(status, {
    ...shared,
    'Content-Type': 'application/x-iso9660-image',
    'Content-Length': end - start,
    ...(status === 206 && { 'Content-Range': `bytes ${start}-${end - 1}/${image.length}` }),
  });
  response.end(request.method === 'HEAD' ? undefined : image.subarray(start, end));
}
