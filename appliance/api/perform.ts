// Performs one operation of the table: If-Match, Idempotency-Key, confirmation, handler. The routes, approved proposals and the tools of
// the MCP server all come through here.

import type { FastifyBaseLogger } from 'fastify';
import type { Operation } from '../contract/operation.ts';
import { OPERATIONS, type OperationId } from '../contract/operations.ts';
import { WIRE, type Wire } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Json, Origin } from '../domain/event.ts';
import type { Role } from '../domain/token.ts';
import type { CommandId } from '../store/change.ts';
import { findNode } from './find-node.ts';
import { type Call, type Handler, type HandlerDeps, RawAnswer } from './handler.ts';
import { HANDLERS } from './handlers.ts';
import { expectedVersion } from './preconditions.ts';
import { commandIdOf, fingerprintOf } from './request-ledger.ts';
import { validated } from './validation.ts';

export type AnyCall = Call<OperationId>;

/** A write with an Idempotency-Key is executed once. */
export async function performOnce(
  deps: HandlerDeps,
  id: OperationId,
  call: AnyCall,
  key: string | null,
  fingerprinted: () => Json,
): Promise<{ readonly answer: unknown; readonly replayed: boolean }> {
  const operation = OPERATIONS[id];
  if (key === null) return { answer: await carryOut(deps, operation, id, call), replayed: false };
  const commandId = commandIdOf(call.origin.actor, key);
  return deps.requests.once(
    {
      commandId,
      fingerprint: fingerprintOf(key, fingerprinted()),
      operation: id,
      repeatable: operation.write?.idempotent ?? false,
      secretAnswer: operation.write?.secretAnswer ?? false,
    },
    async () => (await carryOut(deps, operation, id, { ...call, origin: { ...call.origin, commandId } })) as Json,
  );
}

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
export const handle = async (deps: HandlerDeps, id: OperationId, call: AnyCall): Promise<unknown> =>
  (HANDLERS[id] as unknown as Handler<OperationId>)(deps, call);

/** A call that does not come from a route. */
export interface InnerCall {
  readonly params: Json | undefined;
  readonly query: Json | undefined;
  readonly body: Json | undefined;
  readonly origin: Origin;
  readonly role: Role;
  readonly ifMatch?: string;
  /** With it, the operation is executed once. */
  readonly key?: string;
  readonly log: FastifyBaseLogger;
  readonly signal: AbortSignal;
}

/** Validates the input as the route would, and performs the operation. */
export async function perform(deps: HandlerDeps, id: OperationId, inner: InnerCall): Promise<Json> {
  const { params, query, body }: Wire = WIRE[id];
  const call = {
    params: validated(params, inner.params, 'params'),
    query: validated(query, inner.query ?? {}, 'querystring'),
    body: validated(body, inner.body, 'body'),
    origin: inner.origin,
    role: inner.role,
    ifMatch: inner.ifMatch,
    log: inner.log,
    gone: () => inner.signal,
    upgrade: () => {
      throw new ColdironError('invalid_request', 'this operation needs a connection of its own');
    },
  } as unknown as AnyCall;
  const sent: Json = [id, inner.params ?? null, inner.query ?? null, inner.body ?? null];
  const answer =
    OPERATIONS[id].write === null
      ? await handle(deps, id, call)
      : (await performOnce(deps, id, call, inner.key ?? null, () => sent)).answer;
  if (answer instanceof RawAnswer) throw new Error(`${id} has no plain answer`);
  return answer as Json;
}
