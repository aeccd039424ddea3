// The boot side of HTTP: scripts, loaders, images, reports. Machines have no credentials here; what they may get, the
// decision says. Whatever lies outside /boot/ is handed on.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { SESSION_PATH } from '../../boot/boot-paths.ts';
import { ColdironError } from '../../domain/errors.ts';
import { shown } from '../../domain/parsed.ts';
import { cannotListen } from '../../net/listen.ts';
import { PerAddressLimit } from '../../net/per-address-limit.ts';
import { BootExchanges, type BootExchangesDeps } from './boot-exchanges.ts';
import { isBootPath, isSessionPath } from './boot-route.ts';
import { asColdironError, type Exchange, exchangeOf, sendError } from './exchange.ts';
import { FileBytes } from './file-bytes.ts';

export interface HttpBootSettings {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
  /** The port as machines reach it; left out: the one that is listened on. */
  readonly advertisedPort?: number;
  /** Bytes of files held in memory. */
  readonly memoryBudget?: number;
  /** More at once get 503 and come back by themselves. */
  readonly mostRequests?: number;
  /** The same for one address: many machines may sit behind one, but none may keep out the others. */
  readonly mostPerAddress?: number;
  /** And for each address of the loopback, where nobody is but this machine itself. */
  readonly mostPerLoopback?: number;
  /** A client that takes nothing for so long is given up. */
  readonly stallMs?: number;
  /** A request has to be here as a whole by then. */
  readonly requestMs?: number;
}

export interface HttpBootDeps extends Omit<BootExchangesDeps, 'files' | 'port'> {
  readonly newId: () => string;
  readonly elsewhere: (request: IncomingMessage, response: ServerResponse) => void;
}

const MEBIBYTE = 1024 * 1024;
const DEFAULTS = {
  memoryBudget: 512 * MEBIBYTE,
  mostRequests: 4096,
  mostPerAddress: 256,
  mostPerLoopback: 1024,
  stallMs: 120_000,
  requestMs: 20_000,
};
/** iPXE keeps connections that it does not use at the moment. */
const CONNECTIONS_PER_REQUEST = 2;
/** iPXE keeps its connections between script, kernel and initrd; a person may stand at a menu in between. */
const KEEP_ALIVE_MS = 75_000;
const HEADER_BYTES = 8 * 1024;
const RETRY_SECONDS = 3;
const GRACE_MS = 1500;

export class HttpBootServer {
  readonly #deps: HttpBootDeps;
  readonly #settings: HttpBootSettings & typeof DEFAULTS;
  readonly #server: Server;
  readonly #files: FileBytes;
  #exchanges: BootExchanges | null = null;
  readonly #running = new Set<Promise<void>>();
  readonly #requests: PerAddressLimit;
  readonly #connections: PerAddressLimit;

  constructor(deps: HttpBootDeps, settings: HttpBootSettings) {
    this.#deps = deps;
    this.#settings = { ...DEFAULTS, ...settings };
    const { memoryBudget, stallMs, requestMs, mostRequests } = this.#settings;
    this.#files = new FileBytes(memoryBudget, (error, asset) =>
      deps.logger.error({ err: error, asset }, 'a boot file could not be read into memory'),
    );
    this.#server = createServer(
      {
        maxHeaderSize: HEADER_BYTES,
        headersTimeout: requestMs,
        requestTimeout: requestMs,
        keepAliveTimeout: KEEP_ALIVE_MS,
        connectionsCheckingInterval: Math.min(requestMs, 5000),
        noDelay: true,
      },
      (request, response) => this.#onRequest(request, response),
    );
    this.#server.timeout = stallMs;
    this.#server.maxConnections = mostRequests * CONNECTIONS_PER_REQUEST;
    const tell = (what: string) => (address: string, refused: number) =>
      deps.logger.warn(
        { address, refused },
        `boot: an address has as many ${what} under way as it may; its others are turned away`,
      );
    this.#requests = new PerAddressLimit(tell('requests'));
    this.#connections = new PerAddressLimit(tell('connections'));
    this.#server.on('connection', (socket) => this.#onConnection(socket));
    this.#server.on('clientError', (error, socket) => this.#refuseMalformed(error, socket as Socket));
  }

  /** Requests that are being answered, files that are open, bytes that are held in memory. */
  get usage(): { readonly requests: number; readonly files: number; readonly heldBytes: number } {
    return { requests: this.#running.size, files: this.#files.openFiles, heldBytes: this.#files.heldBytes };
  }

  async start(): Promise<{ readonly address: string; readonly port: number }> {
    const { address, port, advertisedPort } = this.#settings;
    await new Promise<void>((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException): void => reject(cannotListen(error, `${address}:${port}`));
      this.#server.once('error', onError);
      this.#server.listen(port, address, () => {
        this.#server.off('error', onError);
        resolve();
      });
    });
    const bound = this.#server.address() as AddressInfo;
    this.#exchanges = new BootExchanges({ ...this.#deps, files: this.#files, port: advertisedPort ?? bound.port });
    return { address: bound.address, port: bound.port };
  }

  async stop(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    this.#server.closeIdleConnections();
    const impatience = setTimeout(() => this.#server.closeAllConnections(), GRACE_MS);
    await closed;
    clearTimeout(impatience);
    await Promise.all(this.#running);
    await this.#files.close();
  }

  #onConnection(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const most = this.#mostOf(remoteAddress) * CONNECTIONS_PER_REQUEST;
    if (this.#connections.enter(remoteAddress, most, performance.now())) {
      socket.once('close', () => this.#connections.leave(remoteAddress, performance.now()));
    } else socket.destroy();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    // Writing to a client that left is no news to anybody; the transfer notices by its own means.
    response.on('error', () => undefined);
    if (!isBootPath(request.url ?? '')) {
      this.#deps.elsewhere(request, response);
      return;
    }
    const exchange = exchangeOf(request, response, this.#deps.newId());
    if (this.#exchanges === null || this.#running.size >= this.#settings.mostRequests) {
      sendAway(exchange, 'too many machines at once; ask again');
      return;
    }
    const { remoteAddress = '' } = request.socket;
    const most = this.#deps.isOwn?.(request) ? Number.POSITIVE_INFINITY : this.#mostOf(remoteAddress);
    if (!this.#requests.enter(remoteAddress, most, performance.now())) {
      sendAway(exchange, `this address has ${most} requests under way already; ask again`);
      return;
    }
    const started = performance.now();
    const run: Promise<void> = this.#exchanges
      .answer(exchange)
      .then(
        (told) => this.#log(exchange, started, told),
        (error: unknown) => this.#fail(exchange, started, error),
      )
      .then(() => {
        this.#running.delete(run);
        this.#requests.leave(remoteAddress, performance.now());
      });
    this.#running.add(run);
  }

  #mostOf(address: string): number {
    const { mostPerAddress, mostPerLoopback } = this.#settings;
    return /^(?:::ffff:)?127\.|^::1$/.test(address) ? mostPerLoopback : mostPerAddress;
  }

  #fail(exchange: Exchange, started: number, error: unknown): void {
    // Without Retry-After: iPXE would come back for ever without a word, where its script can report the failure and go on.
    sendError(exchange, asColdironError(error));
    this.#log(exchange, started, { err: error });
  }

  #log(exchange: Exchange, started: number, told: object): void {
    const { request, response, path, address, correlationId } = exchange;
    const line = {
      method: request.method,
      path: isSessionPath(path) ? `${SESSION_PATH}…` : shown(path),
      status: response.statusCode,
      address,
      ms: Math.round((performance.now() - started) * 10) / 10,
      correlation_id: correlationId,
      ...told,
    };
    if ('err' in told) this.#deps.logger.error(line, 'boot request failed');
    else this.#deps.logger.info(line, 'boot request');
  }

  /** What Node's parser refuses never becomes a request. */
  #refuseMalformed(error: Error & { code?: string }, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const [status, message] = MALFORMED[error.code ?? ''] ?? ['400 Bad Request', 'this is not HTTP/1.1'];
    const body = JSON.stringify({ code: 'invalid_request', message, correlation_id: this.#deps.newId() });
    const head = [`HTTP/1.1 ${status}`, 'Content-Type: application/json; charset=utf-8', 'Connection: close'];
    socket.end([...head, `Content-Length: ${Buffer.byteLength(body)}`, '', body].join('\r\n'));
  }
}

/** iPXE asks again by itself when it is told after how long. */
const sendAway = (exchange: Exchange, why: string): void =>
  sendError(exchange, new ColdironError('service_unavailable', why), { headers: { 'Retry-After': RETRY_SECONDS } });

const MALFORMED: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', `the headers are longer than ${HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request did not come in time'],
};
