// A mock service on a real HTTPS socket of the loopback interface, which can also misbehave below HTTP.

import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { Duplex } from 'node:stream';
import { type MockCertificate, selfSigned } from './certificates.ts';
import type { MockAnswer } from './mock-answers.ts';
import { MockService } from './mock-service.ts';
import type { VendorProfile } from './vendors.ts';

/** `silent`: never replies. `endless`, `trickle`: a reply without an end, fast or slow. `hang-up`: closes the connection. */
export type Misbehaviour = 'silent' | 'endless' | 'trickle' | 'hang-up';

export class MockServer {
  readonly service: MockService;
  /** Called for every request; null: normal behaviour. */
  misbehave: (method: string, path: string) => Misbehaviour | null = () => null;
  readonly #server: Server;
  readonly #sockets = new Set<Duplex>();

  private constructor(vendor: VendorProfile, { key, certificate }: MockCertificate) {
    this.service = new MockService(vendor);
    this.#server = createServer({ key, cert: certificate }, (request, response) => void this.#serve(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async start(
    vendor: VendorProfile,
    certificate = selfSigned(),
    port = 0,
    address = '127.0.0.1',
  ): Promise<MockServer> {
    const mock = new MockServer(vendor, certificate);
    mock.#server.listen(port, address);
    await once(mock.#server, 'listening');
    return mock;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the mock is not listening');
    return address.port;
  }

  /** Restarts the BMC with another certificate; closes all connections. */
  showCertificate({ key, certificate }: MockCertificate): void {
    this.#server.setSecureContext({ key, cert: certificate });
    this.cutConnections();
  }

  cutConnections(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cutConnections();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url: path = '' } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const how = this.misbehave(method, path);
    if (how === 'hang-up') request.socket.destroy();
    else if (how === 'endless') endless(response);
    else if (how === 'trickle') trickle(response);
    if (how !== null) return;
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value[0] : value]),
    );
    reply(response, this.service.answer({ method, path, headers, body: Buffer.concat(chunks).toString() }));
  }
}

function reply(response: ServerResponse, { status, headers, body }: MockAnswer): void {
  const text =
    body === null ? '' : typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text);
}

function endless(response: ServerResponse): void {
  const piece = '"".'.repeat(16_384);
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
  };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.on('drain', more);
  more();
}

function trickle(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' });
  const timer = setInterval(() => response.write(' '), 20);
  response.on('close', () => clearInterval(timer));
}
