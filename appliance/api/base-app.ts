// What every HTTP surface of ours has in common: correlation ids, one log line per request, the error envelope.

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyHttpOptions,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RawServerDefault,
} from 'fastify';
import { ColdironError } from '../domain/errors.ts';
import { envelope, sendError, sendNotFound } from './errors.ts';
import { validatorCompiler } from './validation.ts';

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;

export const MEBIBYTE = 1024 * 1024;

export interface AppEdge {
  readonly logger: FastifyBaseLogger;
  readonly newId: () => string;
  /** null or left out: plain HTTP, for loopback and unix sockets. */
  readonly tls?: TlsFiles | null;
  /** Which requests turn into streams; whoever says so listens for `upgrade` on the server. Left out: none. */
  readonly upgrades?: (request: IncomingMessage) => boolean;
  /** Milliseconds in which a request must have come in whole; its answer may take longer. Left out: Node's limit for headers. */
  readonly requestTimeout?: number;
}

export interface TlsFiles {
  readonly cert: Buffer | string;
  readonly key: Buffer | string;
  /** Who vouches for clients; with `requestCert`, they are asked for a certificate. */
  readonly ca?: string;
  readonly requestCert?: boolean;
  readonly rejectUnauthorized?: boolean;
  readonly minVersion?: 'TLSv1.2';
  /** Milliseconds, for whoever connects and then says nothing. */
  readonly handshakeTimeout?: number;
}

export function createApp({ logger, newId, tls, upgrades, requestTimeout = 0 }: AppEdge): App {
  const app = fastifyWith(tls ?? null, upgrades ?? (() => false), {
    requestTimeout,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'correlation_id' }),
    // Nothing here logs headers; should somebody add it one day, the token still stays out.
    childLoggerFactory: (parent, bindings, options) =>
      parent.child(bindings, { ...options, redact: ['req.headers.authorization', 'headers.authorization'] }),
    genReqId: (request) => saneCorrelationId(request.headers['x-correlation-id']) ?? newId(),
    bodyLimit: MEBIBYTE,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      sendError(error, request, reply);
      // Such a request never gets as far as the hooks.
      logRequest(request, reply);
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, newId(), logger),
  });

  app.removeContentTypeParser('text/plain');
  app.setValidatorCompiler(validatorCompiler);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(sendNotFound);
  app.decorateRequest('failure', undefined);

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-correlation-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (request.url.startsWith('/api/')) reply.header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => logRequest(request, reply));
  return app;
}

/** HTTP and HTTPS servers differ in their type, and in nothing that a route can see. */
function fastifyWith(
  tls: TlsFiles | null,
  shouldUpgradeCallback: (request: IncomingMessage) => boolean,
  options: FastifyHttpOptions<RawServerDefault, FastifyBaseLogger>,
): App {
  // Node looks every half minute, and takes the longer of its two limits for the body, unless told otherwise.
  const limit = options.requestTimeout;
  const limits = limit ? { headersTimeout: limit, connectionsCheckingInterval: limit / 4 } : {};
  const server = { shouldUpgradeCallback, ...limits };
  if (tls === null) return Fastify({ ...options, http: server }).withTypeProvider<TypeBoxTypeProvider>();
  return Fastify({
    ...options,
    https: { ...tls, ...server },
  } as typeof options).withTypeProvider<TypeBoxTypeProvider>();
}

function logRequest(request: FastifyRequest, reply: FastifyReply): void {
  const line = {
    method: request.method,
    // The pattern, not the URL: lines of one kind count together, and no query ends up in the log.
    route: request.routeOptions.url ?? 'unknown',
    status: reply.statusCode,
    actor: request.caller?.actor ?? null,
    ms: Math.round(reply.elapsedTime * 10) / 10,
  };
  if (request.failure === undefined) request.log.info(line, 'request');
  else request.log.error({ ...line, err: request.failure }, 'request failed');
}

function saneCorrelationId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : null;
}

/** What Node's HTTP parser refused never becomes a request; it still gets an answer in our form. */
function refuseMalformed(
  error: Error & { code?: string },
  socket: Socket,
  correlationId: string,
  logger: FastifyBaseLogger,
): void {
  // Before a handshake is over nothing can be said: an answer would wait in the socket, and keep it open, for good.
  if (!isFromHttp(error) || !socket.writable) {
    socket.destroy();
    return;
  }
  logger.info({ status: 400, reason: error.code ?? error.message, correlation_id: correlationId }, 'not HTTP');
  const body = JSON.stringify(envelope(new ColdironError('invalid_request', 'this is not HTTP/1.1'), correlationId));
  socket.write(
    [
      'HTTP/1.1 400 Bad Request',
      'Content-Type: application/json; charset=utf-8',
      `Content-Length: ${Buffer.byteLength(body)}`,
      `X-Correlation-Id: ${correlationId}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
  // And not only our half of it: whoever does not hang up would keep the other.
  socket.destroySoon();
}

const isFromHttp = ({ code = '' }: Error & { code?: string }): boolean =>
  code.startsWith('HPE_') || code.startsWith('ERR_HTTP_');
