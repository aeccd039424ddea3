// A receiver over HTTP that the test controls. It knows nothing of the code that sends.

import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export class HttpReceiver {
  readonly requests: ReceivedRequest[] = [];
  answer: (request: ReceivedRequest, response: ServerResponse) => void = (_, response) => response.writeHead(204).end();
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
    server.on('request', (request, response) => void this.#receive(request, response));
  }

  static async open(port = 0): Promise<HttpReceiver> {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    return new HttpReceiver(server);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const received = { path: request.url ?? '', headers: request.headers, body: await text(request) };
      this.requests.push(received);
      this.answer(received, response);
    } catch {
      // The sender was killed in between.
    }
  }
}
