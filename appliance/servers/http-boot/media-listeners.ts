// The listeners for BMCs. The boot server may be bound to an address of the provisioning network only; then media are served on the port of
// the boot server at the address that BMCs are reached from, while there are any. Nothing else is served there.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { mediumNameIn } from '../../boot/boot-paths.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { cannotListen } from '../../net/listen.ts';
import { PerAddressLimit } from '../../net/per-address-limit.ts';
import type { SessionMedia } from '../../provisioning/media/session-media.ts';
import { asColdironError, exchangeOf, sendBootError } from './exchange.ts';
import { answerMedium } from './medium-exchanges.ts';

export interface MediaListenersDeps {
  readonly media: Pick<SessionMedia, 'fetch'>;
  /** The boot server, as it is open. */
  readonly boot: { readonly address: string; readonly port: number };
  readonly newId: () => string;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
    error(fields: object, message: string): void;
  };
}

const HEADER_BYTES = 8 * 1024;
const REQUEST_MS = 20_000;
const MOST_CONNECTIONS = 512;
/** A BMC reads with one or two; nobody else may take them all. */
const MOST_PER_ADDRESS = 8;
const ANY_ADDRESS: readonly string[] = ['0.0.0.0', '::'];

export class MediaListeners {
  readonly #deps: MediaListenersDeps;
  readonly #servers = new Map<Ipv4, Promise<Server>>();

  constructor(deps: MediaListenersDeps) {
    this.#deps = deps;
  }

  /** A medium can be fetched at this address, with the port of the boot server. */
  async open(address: Ipv4): Promise<Parsed<null>> {
    const { boot } = this.#deps;
    if (ANY_ADDRESS.includes(boot.address) || boot.address === address) return parsed(null);
    const opening = this.#servers.get(address) ?? this.#listen(address);
    this.#servers.set(address, opening);
    try {
      await opening;
      return parsed(null);
    } catch (error) {
      this.#servers.delete(address);
      return unparsable(error instanceof Error ? error.message : String(error));
    }
  }

  async close(): Promise<void> {
    const servers = [...this.#servers.values()];
    this.#servers.clear();
    await Promise.all(servers.map(async (opening) => end(await opening.catch(() => null))));
  }

  async #listen(address: Ipv4): Promise<Server> {
    const { boot, log } = this.#deps;
    const server = createServer(
      { maxHeaderSize: HEADER_BYTES, headersTimeout: REQUEST_MS, requestTimeout: REQUEST_MS, noDelay: true },
      (request, response) => void this.#answer(request, response),
    );
    server.maxConnections = MOST_CONNECTIONS;
    server.timeout = REQUEST_MS;
    const connections = new PerAddressLimit((from, refused) =>
      log.warn({ address: from, refused }, 'media: an address has reached its limit of concurrent connections'),
    );
    server.on('connection', (socket: Socket) => {
      const { remoteAddress = '' } = socket;
      if (!connections.enter(remoteAddress, MOST_PER_ADDRESS, performance.now())) socket.destroy();
      else socket.once('close', () => connections.leave(remoteAddress, performance.now()));
    });
    await new Promise<void>((resolve, reject) => {
      server.once('error', (error) => reject(cannotListen(error, `${address}:${boot.port}`)));
      server.listen(boot.port, address, resolve);
    });
    log.info({ address, port: boot.port }, 'media: BMCs can fetch media here');
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => undefined);
    const exchange = exchangeOf(request, response, this.#deps.newId());
    const name = mediumNameIn(exchange.path);
    try {
      if (name === null || (request.method !== 'GET' && request.method !== 'HEAD')) {
        sendBootError(exchange, new ColdironError('not_found', 'there is no such medium'), CLOSE);
      } else await answerMedium(this.#deps.media, exchange, name);
    } catch (error) {
      const known = asColdironError(error);
      if (known !== error) this.#deps.log.error({ err: error }, 'media: a request failed');
      sendBootError(exchange, known, CLOSE);
    }
  }
}

const CLOSE = { headers: { Connection: 'close' } } as const;

async function end(server: Server | null): Promise<void> {
  if (server === null) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeAllConnections();
  await closed;
}
