// The type of a handler: one call into the appliance for one operation of the table, typed by its schemas.

import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Duplex, Readable } from 'node:stream';
import type { FastifyBaseLogger } from 'fastify';
import type { OperationId } from '../contract/operations.ts';
import type { Answer, Body, Params, Query } from '../contract/wire.ts';
import type { Origin } from '../domain/event.ts';
import type { Role } from '../domain/token.ts';
import type { Caller } from './access.ts';
import type { ManagementDeps } from './deps.ts';

export interface Call<Id extends OperationId> {
  readonly params: Params<Id>;
  readonly query: Query<Id>;
  readonly body: Body<Id>;
  /** The origin of the request, with its Idempotency-Key and If-Match if it has them. */
  readonly origin: Origin;
  /** Null on public routes. */
  readonly role: Role | null;
  readonly ifMatch: string | undefined;
  readonly caller: Caller | null;
  /** Of the request. */
  readonly ip: string;
  readonly headers: IncomingHttpHeaders;
  /** Of the answer. */
  readonly setHeader: (name: string, value: string) => void;
  readonly log: FastifyBaseLogger;
  /** Aborted when the caller disconnects. */
  readonly gone: () => AbortSignal;
  /** Throws `invalid_request` when the caller did not request an upgrade to it; the result takes over the connection. */
  readonly upgrade: (protocol: string) => () => Duplex;
  /** The header of that name. */
  readonly header: (name: string) => string | undefined;
  /** Whether the caller would be allowed this now: its token may have been revoked since. */
  readonly stillAllowed: () => Promise<boolean>;
  /** Takes over the connection for an answer without end, with these headers; ended when the API stops. */
  readonly openStream: (headers: Readonly<Record<string, string>>) => ServerResponse;
}

/** An answer that is not the schema's value with the row's status: another status, a stream, or a connection taken over. */
export class RawAnswer {
  readonly status: number;
  readonly content: object | Readable | 'taken-over';
  /** Media type; null: JSON. */
  readonly type: string | null;

  constructor(status: number, content: object | Readable | 'taken-over', type: string | null = null) {
    this.status = status;
    this.content = content;
    this.type = type;
  }
}

export interface HandlerDeps extends ManagementDeps {
  /** The OpenAPI document. */
  readonly describe: () => object;
}

export type Handler<Id extends OperationId> = (
  deps: HandlerDeps,
  call: Call<Id>,
) => Promise<Answer<Id> | RawAnswer> | Answer<Id> | RawAnswer;

export type Handlers<Ids extends OperationId = OperationId> = { readonly [Id in Ids]: Handler<Id> };
