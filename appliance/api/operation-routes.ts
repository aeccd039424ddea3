// Registers a route for each row of the operation table: role, schema, If-Match, Idempotency-Key, confirmation, call, ETag.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../contract/operations.ts';
import { WIRE, type Wire } from '../contract/wire.ts';
import type { Json, Origin } from '../domain/event.ts';
import { originOf } from './access.ts';
import type { App } from './base-app.ts';
import { type HandlerDeps, RawAnswer } from './handler.ts';
import { type AnyCall, handle, performOnce } from './perform.ts';
import { etagOf } from './preconditions.ts';
import { idempotencyKeyOf } from './request-ledger.ts';
import type { Upgrades } from './upgrade.ts';

export function operationRoutes(app: App, deps: HandlerDeps, upgrades: Upgrades): void {
  for (const id of OPERATION_IDS) register(app, deps, upgrades, id);
}

function register(app: App, deps: HandlerDeps, upgrades: Upgrades, id: OperationId): void {
  const operation = OPERATIONS[id];
  const { params, query, body }: Wire = WIRE[id];
  app.route({
    method: operation.method,
    url: operation.path,
    ...(operation.bodyLimit !== undefined && { bodyLimit: operation.bodyLimit }),
    config: { access: operation.access, operation: id },
    schema: {
      ...(params && { params }),
      ...(query && { querystring: query }),
      ...(body && { body }),
    },
    handler: (request, reply) => answerTo(deps, upgrades, id, request, reply),
  });
}

async function answerTo(
  deps: HandlerDeps,
  upgrades: Upgrades,
  id: OperationId,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const operation = OPERATIONS[id];
  const answer =
    operation.write === null
      ? await handle(deps, id, callOf(upgrades, request, reply, readOrigin(request)))
      : await writeOnce(deps, upgrades, id, request, reply);
  if (answer instanceof RawAnswer) {
    if (answer.content === 'taken-over') return reply;
    return reply.code(answer.status).type(JSON_TYPE).send(answer.content);
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
  deps: HandlerDeps,
  upgrades: Upgrades,
  id: OperationId,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const call = callOf(upgrades, request, reply, originOf(request));
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

function callOf(upgrades: Upgrades, request: FastifyRequest, reply: FastifyReply, origin: Origin): AnyCall {
  return {
    params: request.params,
    query: request.query,
    body: request.body,
    origin,
    role: request.caller?.role ?? null,
    ifMatch: request.headers['if-match'],
    log: request.log,
    gone: () => {
      const left = new AbortController();
      request.raw.socket.once('close', () => left.abort());
      return left.signal;
    },
    upgrade: () => upgrades.streamOf(request, reply),
  } as AnyCall;
}
