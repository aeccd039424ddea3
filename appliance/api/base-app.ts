// What all HTTP listeners of the appliance share: correlation ids, one log line per request, the error envelope.

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
import { plainLine } from '../domain/plain-line.ts';
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

const SECRET_HEADERS = ['authorization', 'cookie'].flatMap((name) => [`req.headers.${name}`, `headers.${name}`]);

export interface AppEdge {
  readonly logger: FastifyBaseLogger;
  readonly newId: () => string;
  /** null or left out: plain HTTP, for loopback and unix sockets. */
  readonly tls?: TlsFiles | null;
  /** Which requests are upgraded to streams; the caller handles `upgrade` on the server. Left out: none. */
  readonly upgrades?: (request: IncomingMessage) => boolean;
  /** Deadline in milliseconds for receiving a whole request; the answer may take longer. Left out: Node's limit for headers. */
  readonly requestTimeout?: number;
}

export interface TlsFiles {
  readonly cert: Buffer | string;
  readonly key: Buffer | string;
  /** The CA of client certificates; with `requestCert`, the server requests one. */
  readonly ca?: string;
  readonly requestCert?: boolean;
  readonly rejectUnauthorized?: boolean;
  readonly minVersion?: 'TLSv1.2';
  /** Timeout in milliseconds for a client that connects and sends nothing. */
  readonly handshakeTimeout?: number;
}

export function createApp({ logger, newId, tls, upgrades, requestTimeout = 0 }: AppEdge): App {
  const app = fastifyWith(tls ?? null, upgrades ?? (() => false), {
    requestTimeout,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'correlation_id' }),
    // Headers are not logged; if that changes, the token is still redacted.
    childLoggerFactory: (parent, bindings, options) => parent.child(bindings, { ...options, redact: SECRET_HEADERS }),
    genReqId: (request) => saneCorrelationId(request.headers['x-correlation-id']) ?? newId(),
    bodyLimit: MEBIBYTE,
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      sendError(error, request, reply);
      // Such a request never reaches the hooks.
      logRequest(request, reply);
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, newId(), logger),
  });

  app.removeContentTypeParser('text/plain');
  app.setValidatorCompiler(validatorCompiler);
  app.setErrorHandler(sendError);
  app.setNotFoundHandler(sendNotFound);
  app.decorateRequest('failure', undefined);
  app.decorateRequest('refusal', undefined);

  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-correlation-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (request.url.startsWith('/api/')) reply.header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => logRequest(request, reply));
  return app;
}

/** HTTP and HTTPS servers differ only in their type, not in what a route sees. */
function fastifyWith(
  tls: TlsFiles | null,
  shouldUpgradeCallback: (request: IncomingMessage) => boolean,
  options: FastifyHttpOptions<RawServerDefault, FastifyBaseLogger>,
): App {
  // By default Node checks every 30 seconds and uses the longer of its two limits for the body.
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
    // The route pattern, not the URL: lines of one route group together, and no query reaches the log.
    route: request.routeOptions.url ?? 'unknown',
    status: reply.statusCode,
    actor: request.caller?.actor ?? null,
    ms: Math.round(reply.elapsedTime * 10) / 10,
    ...(request.refusal && { code: request.refusal.code, reason: plainLine(request.refusal.message).slice(0, 300) }),
  };
  if (request.failure === undefined) request.log.info(line, 'request');
  else request.log.error({ ...line, err: request.failure }, 'request failed');
}

function saneCorrelationId(header: string | string[] | undefined): string | null {
  return typeof header === 'string' && /^[A-Za-z0-9._-]{1,64}$/.test(header) ? header : null;
}

/** Input that Node's HTTP parser rejects never becomes a request; it still gets an answer in the error envelope. */
function refuseMalformed(
  error: Error & { code?: string },
  socket: Socket,
  correlationId: string,
  logger: FastifyBaseLogger,
): void {
  // Before the TLS handshake is complete, an answer would stay in the socket and keep it open forever.
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
  // Closes both halves: a client that does not close its half would keep the socket open.
  socket.destroySoon();
}

const isFromHttp = ({ code = '' }: Error & { code?: string }): boolean =>
  code.startsWith('HPE_') || code.startsWith('ERR_HTTP_');
