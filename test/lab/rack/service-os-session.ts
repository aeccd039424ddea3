// The smallest appliance side of docs/service-os.md: one ticket, one session, and a record of all reports.

import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface StepReport {
  readonly sequence: number;
  readonly step: string;
  readonly status: 'started' | 'progress' | 'done' | 'failed';
  readonly percent: number | null;
  readonly message: string;
  readonly log: string;
}

export interface Outcome {
  readonly ok: boolean;
  readonly step: string;
  readonly reason: string | null;
}

interface DiskFact {
  readonly name: string;
  readonly by_id: readonly string[];
  readonly serial: string | null;
  readonly model: string | null;
  readonly bytes: number;
  readonly rotational: boolean | null;
  readonly health: string | null;
  readonly read_only: boolean;
}

/** Only the facts that the tests check in detail. */
export interface Facts extends Readonly<Record<string, unknown>> {
  readonly sequence: number;
  readonly disks: readonly DiskFact[];
}

interface Order {
  readonly mode: string;
  readonly image?: { url: string };
  readonly disks?: 'all' | readonly string[];
  readonly tests?: readonly { readonly name: string; readonly megabytes?: number }[];
  readonly authorized_keys?: readonly string[];
  readonly erased?: readonly object[];
}

export interface SessionOptions {
  readonly order: Order;
  /** By name, as in the order's `seed`. */
  readonly files?: Readonly<Record<string, string>>;
  /** Files below /image/. */
  readonly images?: Readonly<Record<string, Buffer>>;
  readonly next?: 'reboot' | 'power-off' | 'wait';
  readonly rangesRefused?: boolean;
  /** Called before a part of an image is sent; returns how many bytes to send before the connection breaks. */
  readonly cutAfter?: (from: number) => number | null;
}

export class ServiceOsSession {
  readonly ticket = randomBytes(32).toString('hex');
  readonly key = randomBytes(32).toString('hex');
  readonly steps: StepReport[] = [];
  readonly facts: Facts[] = [];
  readonly requests: string[] = [];
  introduction: unknown = null;
  outcome: Outcome | null = null;
  cancelled = false;
  readonly #options: SessionOptions;
  readonly #given = new Set<string>();
  readonly #changed: (() => void)[] = [];
  #server: Server | null = null;
  #port = 0;

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  get port(): number {
    return this.#port;
  }

  async listen(address = '127.0.0.1'): Promise<void> {
    const server = createServer((request, response) => void this.#answer(request, response));
    server.listen(this.#port, address);
    await once(server, 'listening');
    this.#port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  /** Like an appliance that stops: closes every connection at once. */
  async close(): Promise<void> {
    const server = this.#server;
    if (server === null) return;
    this.#server = null;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  /** Resolves when the condition holds; checked after every request. */
  until(isSo: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (isSo()) resolve();
        else this.#changed.push(look);
      };
      look();
    });
  }

  reasons(step: string): readonly string[] {
    return this.steps.filter((report) => report.step === step && report.status === 'failed').map((one) => one.message);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString('utf8');
    const { method = '', url = '' } = request;
    this.requests.push(`${method} ${url}`);
    try {
      this.#route(`${method} ${url}`, request, response, text);
    } finally {
      for (const look of this.#changed.splice(0)) look();
    }
  }

  #route(route: string, request: IncomingMessage, response: ServerResponse, text: string): void {
    const { order, files = {}, next = 'power-off' } = this.#options;
    const json = (status: number, value?: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(value === undefined ? undefined : JSON.stringify(value));
    };
    const refuse = (status: number, message: string): void => json(status, { code: 'refused', message });
    if (route.startsWith('GET /image/')) this.#sendImage(route.slice(11), request, response);
    else if (route === 'GET /health') json(200, { status: 'healthy' });
    else if (route.startsWith('GET /boot/service-os-')) response.end(Buffer.alloc(1024 * 1024));
    else if (route === `POST /boot/session/${this.ticket}`) {
      if (this.introduction !== null) refuse(409, 'this ticket was used');
      else {
        this.introduction = JSON.parse(text);
        json(201, { session: this.key, node: 'node05', mode: order.mode, expires_in: 3600, order });
      }
    } else if (request.headers.authorization !== `Bearer ${this.key}`) refuse(401, 'no such session');
    else if (route === 'GET /boot/session/order') json(200, { ...order, cancelled: this.cancelled });
    else if (route === 'PUT /boot/session/facts') {
      this.facts.push(JSON.parse(text));
      json(204);
    } else if (route === 'POST /boot/session/steps') {
      this.steps.push(JSON.parse(text));
      json(204);
    } else if (route === 'POST /boot/session/outcome') {
      this.outcome = JSON.parse(text);
      json(200, { next });
    } else {
      const name = /^GET \/boot\/session\/files\/(.+)$/.exec(route)?.[1] ?? '';
      const content = files[name];
      if (content === undefined || this.#given.has(name)) refuse(404, `there is no file ${name}`);
      else {
        this.#given.add(name);
        response.end(content);
      }
    }
  }

  #sendImage(name: string, request: IncomingMessage, response: ServerResponse): void {
    const { images = {}, rangesRefused = false, cutAfter = () => null } = this.#options;
    const bytes = images[name];
    if (bytes === undefined) {
      response.writeHead(404).end();
      return;
    }
    const from = rangesRefused ? 0 : Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
    const isPart = from > 0;
    response.writeHead(isPart ? 206 : 200, {
      'content-length': bytes.length - from,
      ...(isPart ? { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` } : {}),
    });
    const limit = cutAfter(from);
    if (limit === null) response.end(bytes.subarray(from));
    else response.write(bytes.subarray(from, from + limit), () => response.destroy());
  }
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');
