// The virtual CD drive of a mock BMC: it fetches an inserted image as BMCs do, its size first and then piece by piece.

import { type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { MockService } from './mock-service.ts';

/** `reads`: as a BMC does. `claims`: shows the image as inserted and never reads it. */
export type DriveHabit = 'reads' | 'claims';

const PIECE = 32 * 1024;

/** Follows the image of the service. `onDisc` gets what the machine finds in its drive; null: the drive is empty. */
export function followImage(
  service: MockService,
  options: {
    readonly localAddress: string;
    readonly habit: DriveHabit;
    readonly onDisc: (disc: Buffer | null, url: string | null) => void;
  },
): void {
  let image: string | null = service.machine.image;
  const load = async (url: string): Promise<void> => {
    const disc = await fetched(url, options.localAddress);
    if (image === url) options.onDisc(disc, url);
  };
  Object.defineProperty(service.machine, 'image', {
    get: () => image,
    set: (url: string | null) => {
      image = url;
      options.onDisc(null, url);
      if (url !== null && options.habit === 'reads') void load(url).catch(() => options.onDisc(null, url));
    },
  });
}

async function fetched(url: string, localAddress: string): Promise<Buffer> {
  const head = await ask('HEAD', url, localAddress, {});
  const size = Number(head.headers['content-length']);
  if (head.statusCode !== 200 || !(size > 0)) throw new Error(`the image cannot be fetched: ${head.statusCode}`);
  const pieces: Buffer[] = [];
  for (let from = 0; from < size; from += PIECE) {
    const to = Math.min(from + PIECE, size) - 1;
    const answer = await ask('GET', url, localAddress, { range: `bytes=${from}-${to}` });
    if (answer.statusCode !== 206) throw new Error(`a piece of the image cannot be fetched: ${answer.statusCode}`);
    pieces.push(answer.body);
  }
  return Buffer.concat(pieces);
}

type Received = Pick<IncomingMessage, 'statusCode' | 'headers'> & { readonly body: Buffer };

function ask(method: string, url: string, localAddress: string, headers: Record<string, string>): Promise<Received> {
  const { promise, resolve, reject } = Promise.withResolvers<Received>();
  const outgoing = request(url, { method, localAddress, agent: false, headers }, (answer) => {
    const { statusCode, headers: received } = answer;
    buffer(answer).then((body) => resolve({ statusCode, headers: received, body }), reject);
  });
  outgoing.on('error', reject);
  outgoing.end();
  return promise;
}
