// Registers a route for each row of the operation table: role, schema, If-Match, Idempotency-Key, confirmation, call, ETag.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Operation } from '../contract/operation.ts';
import { OPERATION_IDS, OPERATIONS, type OperationId } from '../contract/operations.ts';
import { WIRE, type Wire } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Json, Origin } from '../domain/event.ts';
import { mayActAs } from '../domain/token.ts';
import type { CommandId } from '../store/change.ts';
import { originOf } from './access.ts';
import type { App } from './base-app.ts';
import { findNode } from './find-node.ts';
import { type Call, type Handler, type HandlerDeps, RawAnswer } from './handler.ts';
import { HANDLERS } from './handlers.ts';
import { etagOf, expectedVersion } from './preconditions.ts';
import { commandIdOf, fingerprintOf, idempotencyKeyOf } from './request-ledger.ts';
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
    handler: (request, reply) => answerTo(routes, id, request, reply),
  });
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
  const operation = OPERATIONS[id];
  const origin = originOf(request);
  const key = idempotencyKeyOf(request.headers['idempotency-key']);
  const write = (commandId?: string) =>
    carryOut(deps, operation, id, callOf(routes, request, reply, { ...origin, commandId }));
  if (key === null) return write();
  const commandId = commandIdOf(origin.actor, key);
  const { answer, replayed } = await deps.requests.once(
    {
      commandId,
      fingerprint: fingerprintOf(key, fingerprinted(request)),
      operation: id,
      repeatable: operation.write?.idempotent ?? false,
      secretAnswer: operation.write?.secretAnswer ?? false,
    },
    async () => (await write(commandId)) as Json,
  );
  if (replayed) reply.header('idempotent-replayed', 'true');
  return answer;
}

const fingerprinted = ({ method, url, headers, body }: FastifyRequest): Json => [
  method,
  url,
  headers['if-match'] ?? null,
  (body ?? null) as Json,
];

type AnyCall = Call<OperationId>;

async function carryOut(deps: HandlerDeps, operation: Operation, id: OperationId, call: AnyCall): Promise<unknown> {
  const node = (call.params as { node?: string } | undefined)?.node;
  // A command that was already committed has changed the version that its caller read.
  const { commandId } = call.origin;
  const isCommitted = commandId !== undefined && (await deps.store.command(commandId as CommandId)) !== null;
  const version = isCommitted ? undefined : await expectedVersion(deps, operation, call.ifMatch, node);
  if (operation.write?.destroys) {
    const { spec } = await findNode(deps, node ?? '');
    if ((call.body as { confirm?: string }).confirm !== spec.hostname) {
      throw new ColdironError('invalid_request', `confirm: must be the node's host name, ${spec.hostname}`);
    }
  }
  const origin = { ...call.origin, ...(version !== undefined && { expectedVersion: version }) };
  return handle(deps, id, { ...call, origin });
}

/** The row's schema has validated the handler's input type. */
const handle = async (deps: HandlerDeps, id: OperationId, call: AnyCall): Promise<unknown> =>
  (HANDLERS[id] as unknown as Handler<OperationId>)(deps, call);

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
    log: request.log,
    gone: () => {
      const left = new AbortController();
      request.raw.socket.once('close', () => left.abort());
      return left.signal;
    },
    upgrade: () => upgrades.streamOf(request, reply),
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
