// Requests that are upgraded to a stream of bytes (RFC 9110 §7.8). They are processed like every other request first: the same
// routes, authentication and errors.

import { type IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { TERMINAL_PROTOCOL } from '../contract/terminal-frames.ts';
import { ColdironError } from '../domain/errors.ts';
import type { App } from './base-app.ts';

/** The protocol after the upgrade: the bytes of a serial console, in both directions. */
export const CONSOLE_PROTOCOL = 'coldiron-console';

const PROTOCOLS: readonly string[] = [CONSOLE_PROTOCOL, TERMINAL_PROTOCOL];

export const wantsUpgrade = ({ headers }: IncomingMessage): boolean =>
  PROTOCOLS.includes(headers.upgrade?.toLowerCase() ?? '');

interface Upgradable {
  readonly socket: Duplex;
  /** Bytes that followed the request directly. */
  readonly head: Buffer;
}

export interface Upgrades {
  /** Throws `invalid_request` when the caller did not request an upgrade to this protocol. */
  streamOf(request: FastifyRequest, reply: FastifyReply, protocol: string): () => Duplex;
}

/** Open streams are closed when the API stops; otherwise the server would wait for them. */
export function acceptUpgrades(app: App): Upgrades {
  const upgradable = new WeakMap<IncomingMessage, Upgradable>();
  const open = new Set<Duplex>();
  app.server.on('upgrade', (request, socket, head) => {
    const response = new ServerResponse(request);
    // A refusal is an ordinary answer that closes the connection, because its parser is detached.
    response.shouldKeepAlive = false;
    response.assignSocket(socket as Parameters<typeof response.assignSocket>[0]);
    response.on('finish', () => socket.end());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => open.delete(socket));
    open.add(socket);
    upgradable.set(request, { socket, head });
    app.routing(request, response);
  });
  app.addHook('preClose', async () => {
    for (const socket of open) socket.destroy();
  });
  return {
    streamOf: ({ raw, id }, reply, protocol) => {
      const found = upgradable.get(raw);
      if (!found || raw.headers.upgrade?.toLowerCase() !== protocol) {
        const headers = `Connection: Upgrade and Upgrade: ${protocol}`;
        throw new ColdironError('invalid_request', `this is a stream: send the headers ${headers}`);
      }
      return () => take(found, reply, id, protocol);
    },
  };
}

function take({ socket, head }: Upgradable, reply: FastifyReply, correlationId: string, protocol: string): Duplex {
  reply.hijack();
  reply.raw.detachSocket(socket as Parameters<typeof reply.raw.detachSocket>[0]);
  const lines = ['HTTP/1.1 101 Switching Protocols', 'Connection: Upgrade', `Upgrade: ${protocol}`];
  socket.write(`${[...lines, `X-Correlation-Id: ${correlationId}`].join('\r\n')}\r\n\r\n`);
  if (head.length > 0) socket.unshift(head);
  return socket;
}
