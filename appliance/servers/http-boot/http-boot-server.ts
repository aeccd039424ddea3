// The HTTP boot server: scripts, loaders, images, reports. Machines have no credentials here; the boot decision says what they
// may get. Requests outside /boot/ are passed to `elsewhere`.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ColdironError } from '../../domain/errors.ts';
import { shown } from '../../domain/parsed.ts';
import { cannotListen } from '../../net/listen.ts';
import { PerAddressLimit } from '../../net/per-address-limit.ts';
import { BootExchanges, type BootExchangesDeps } from './boot-exchanges.ts';
import { isBootPath, secretPathStart } from './boot-route.ts';
import { asColdironError, type BootExchange, exchangeOf, sendBootError } from './exchange.ts';
import { FileBytes } from './file-bytes.ts';

export interface HttpBootSettings {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
  /** The port as machines reach it; default: the listening port. */
  readonly advertisedPort?: number;
  /** Maximum bytes of files in memory. */
  readonly memoryBudget?: number;
  /** Limit of concurrent requests; above it clients get 503 and retry. */
  readonly mostRequests?: number;
  /** The limit per client address: several machines may share one, but none may block the others. */
  readonly mostPerAddress?: number;
  /** The limit per loopback address, used only by this machine itself. */
  readonly mostPerLoopback?: number;
  /** A client that accepts no data for this long is disconnected. */
  readonly stallMs?: number;
  /** Time limit for receiving a complete request. */
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
/** iPXE keeps idle connections open. */
const CONNECTIONS_PER_REQUEST = 2;
/** iPXE keeps connections open between script, kernel and initrd; a menu may wait for a person in between. */
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
    const logRefusal = (what: string) => (address: string, refused: number) =>
      deps.logger.warn(
        { address, refused },
        `boot: an address has reached its limit of concurrent ${what}; further ones are refused`,
      );
    this.#requests = new PerAddressLimit(logRefusal('requests'));
    this.#connections = new PerAddressLimit(logRefusal('connections'));
    this.#server.on('connection', (socket) => this.#onConnection(socket));
    this.#server.on('clientError', (error, socket) => this.#refuseMalformed(error, socket as Socket));
  }

  /** Requests under way, open files, and bytes in memory. */
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
    const forceClose = setTimeout(() => this.#server.closeAllConnections(), GRACE_MS);
    await closed;
    clearTimeout(forceClose);
    await Promise.all(this.#running);
    await this.#files.close();
  }

  #onConnection(socket: Socket): void {
    const { remoteAddress = '' } = socket;
    const limit = this.#limitOf(remoteAddress) * CONNECTIONS_PER_REQUEST;
    if (this.#connections.enter(remoteAddress, limit, performance.now())) {
      socket.once('close', () => this.#connections.leave(remoteAddress, performance.now()));
    } else socket.destroy();
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    // A write to a disconnected client is not an error; the transfer detects the close by itself.
    response.on('error', () => undefined);
    if (!isBootPath(request.url ?? '')) {
      this.#deps.elsewhere(request, response);
      return;
    }
    const exchange = exchangeOf(request, response, this.#deps.newId());
    if (this.#exchanges === null || this.#running.size >= this.#settings.mostRequests) {
      sendUnavailable(exchange, 'too many requests at once; retry');
      return;
    }
    const { remoteAddress = '' } = request.socket;
    const limit = this.#deps.isOwn?.(request) ? Number.POSITIVE_INFINITY : this.#limitOf(remoteAddress);
    if (!this.#requests.enter(remoteAddress, limit, performance.now())) {
      sendUnavailable(exchange, `this address already has ${limit} requests under way; retry`);
      return;
    }
    const started = performance.now();
    const run: Promise<void> = this.#exchanges
      .answer(exchange)
      .then(
        (fields) => this.#log(exchange, started, fields),
        (error: unknown) => this.#fail(exchange, started, error),
      )
      .then(() => {
        this.#running.delete(run);
        this.#requests.leave(remoteAddress, performance.now());
      });
    this.#running.add(run);
  }

  #limitOf(address: string): number {
    const { mostPerAddress, mostPerLoopback } = this.#settings;
    return /^(?:::ffff:)?127\.|^::1$/.test(address) ? mostPerLoopback : mostPerAddress;
  }

  #fail(exchange: BootExchange, started: number, error: unknown): void {
    // No Retry-After: iPXE would retry forever without output, whereas its script can report the failure and continue.
    sendBootError(exchange, asColdironError(error));
    this.#log(exchange, started, { err: error });
  }

  #log(exchange: BootExchange, started: number, fields: object): void {
    const { request, response, path, address, correlationId } = exchange;
    const secretStart = secretPathStart(path);
    const line = {
      method: request.method,
      path: secretStart === null ? shown(path) : `${secretStart}…`,
      status: response.statusCode,
      address,
      ms: Math.round((performance.now() - started) * 10) / 10,
      correlation_id: correlationId,
      ...fields,
    };
    if ('err' in fields) this.#deps.logger.error(line, 'boot request failed');
    else this.#deps.logger.info(line, 'boot request');
  }

  /** Input that Node's parser rejects never becomes a request. */
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

/** iPXE retries by itself after the time in Retry-After. */
const sendUnavailable = (exchange: BootExchange, why: string): void =>
  sendBootError(exchange, new ColdironError('service_unavailable', why), { headers: { 'Retry-After': RETRY_SECONDS } });

const MALFORMED: Readonly<Record<string, readonly [status: string, message: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', `the headers are longer than ${HEADER_BYTES} bytes`],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'the request was not complete in time'],
};
