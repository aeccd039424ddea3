// Registers a route for each row of the operation table: role, schema, If-Match, Idempotency-Key, confirmation, call, ETag.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { pathsOf } from '../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../contract/operations.ts';
import { WIRE, type Wire } from '../contract/wire.ts';
import type { Json, Origin } from '../domain/event.ts';
import { mayActAs } from '../domain/token.ts';
import { originOf } from './access.ts';
import type { App } from './base-app.ts';
import { type HandlerDeps, RawAnswer } from './handler.ts';
import { type AnyCall, handle, performOnce } from './perform.ts';
import { etagOf } from './preconditions.ts';
import { idempotencyKeyOf } from './request-ledger.ts';
import type { Streams } from './streams.ts';
import type { Upgrades } from './upgrade.ts';

export interface Routes {
  readonly deps: HandlerDeps;
  readonly upgrades: Upgrades;
  readonly streams: Streams;
}

export function operationRoutes(app: App, routes: Routes): void {
  for (const id of OPERATION_IDS) register(app, routes, id);
}

function register(app: App, routes: Routes, id: OperationId): void {
  const operation = OPERATIONS[id];
  const { params, query, body }: Wire = WIRE[id];
  for (const url of pathsOf(operation)) {
    app.route({
      method: operation.method,
      url,
      ...(operation.bodyLimit !== undefined && { bodyLimit: operation.bodyLimit }),
      config: { access: operation.access, operation: id },
      schema: {
        ...(params && { params }),
        ...(query && { querystring: query }),
        ...(body && { body }),
      },
      handler: (request, reply) => answerTo(routes, id, request, reply),
    });
  }
}

async function answerTo(
  routes: Routes,
  id: OperationId,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const operation = OPERATIONS[id];
  const answer =
    operation.write === null
      ? await handle(routes.deps, id, callOf(routes, request, reply, readOrigin(request)))
      : await writeOnce(routes, id, request, reply);
  if (answer instanceof RawAnswer) {
    if (answer.content === 'taken-over') return reply;
    return reply
      .code(answer.status)
      .type(answer.type ?? JSON_TYPE)
      .send(answer.content);
  }
  const version = operation.etag === undefined ? undefined : (answer as Record<string, unknown>)[operation.etag];
  if (typeof version === 'number') reply.header('etag', etagOf(version));
  return inItsSchema(reply, id)
    .code(operation.status ?? 200)
    .send(answer);
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** Compiled with the first answer of the route: all of them at the start would take a third of the time until the appliance is up. */
function inItsSchema(reply: FastifyReply, id: OperationId): FastifyReply {
  const schema = WIRE[id].answer as object as Record<string, unknown>;
  return reply.type(JSON_TYPE).serializer((answer: Record<string, unknown>) => reply.serializeInput(answer, schema));
}

async function writeOnce(
  routes: Routes,
  id: OperationId,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { deps } = routes;
  const origin = OPERATIONS[id].access === 'public' ? readOrigin(request) : originOf(request);
  const call = callOf(routes, request, reply, origin);
  const key = idempotencyKeyOf(request.headers['idempotency-key']);
  const { answer, replayed } = await performOnce(deps, id, call, key, () => fingerprinted(request));
  if (replayed) reply.header('idempotent-replayed', 'true');
  return answer;
}

const fingerprinted = ({ method, url, headers, body }: FastifyRequest): Json => [
  method,
  url,
  headers['if-match'] ?? null,
  (body ?? null) as Json,
];

const readOrigin = (request: FastifyRequest): Origin =>
  request.caller === null ? { actor: 'anonymous', correlationId: request.id } : originOf(request);

function callOf(
  { deps, upgrades, streams }: Routes,
  request: FastifyRequest,
  reply: FastifyReply,
  origin: Origin,
): AnyCall {
  return {
    params: request.params,
    query: request.query,
    body: request.body,
    origin,
    role: request.caller?.role ?? null,
    ifMatch: request.headers['if-match'],
    caller: request.caller,
    ip: request.ip,
    headers: request.headers,
    setHeader: (name, value) => void reply.header(name, value),
    log: request.log,
    gone: () => {
      const left = new AbortController();
      request.raw.socket.once('close', () => left.abort());
      return left.signal;
    },
    upgrade: (protocol) => upgrades.streamOf(request, reply, protocol),
    header: (name) => [request.headers[name]].flat()[0],
    stillAllowed: async () => {
      const { access } = request.routeOptions.config;
      const authentication = await deps.authenticate(request);
      return (
        authentication.known &&
        access !== undefined &&
        access !== 'public' &&
        mayActAs(authentication.caller.role, access)
      );
    },
    openStream: (headers) => streams.open(reply, headers),
  } as AnyCall;
}
