// Access control. Every route declares who may call it; a route that does not cannot be registered, and routes that are not
// declared public need authentication.

import type { FastifyRequest } from 'fastify';
import type { Access } from '../contract/operation.ts';
import type { OperationId } from '../contract/operations.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Actor } from '../domain/event.ts';
import { mayActAs, ROLES, type Role, type TokenId } from '../domain/token.ts';
import type { WebSession } from '../domain/web-session.ts';
import type { App } from './base-app.ts';

export interface Caller {
  readonly actor: Actor;
  readonly role: Role;
  /** The token that authenticated the request, if one did. */
  readonly token?: TokenId;
  /** The session of the web page that authenticated the request, if one did. */
  readonly session?: WebSession;
}

export type Authentication =
  | { readonly known: true; readonly caller: Caller }
  | { readonly known: false; readonly reason: string; readonly retryAfterSeconds: number | null };

/** Authenticates the caller. The proof depends on the listener: a token on TCP, access to the file on a unix socket. */
export type Authenticate = (request: FastifyRequest) => Promise<Authentication>;

export interface DeclaredRoute {
  readonly method: string;
  readonly url: string;
  readonly access: Access;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Every route, with the role that may call it. */
    routeTable: readonly DeclaredRoute[];
  }
  interface FastifyContextConfig {
    access?: Access;
    /** The row of the operation table that defines the route. */
    operation?: OperationId;
    /** The body is a stream without a time limit. */
    endless?: boolean;
  }
  interface FastifyRequest {
    /** null on public routes, which do not authenticate. */
    caller: Caller | null;
  }
}

const ACCESSES: readonly Access[] = ['public', ...ROLES];

export function guardRoutes(app: App, authenticate: Authenticate): void {
  const routes: DeclaredRoute[] = [];
  app.decorate('routeTable', routes);
  app.decorateRequest('caller', null);

  app.addHook('onRoute', ({ method, url, config }) => {
    const access = ACCESSES.find((known) => known === config?.access);
    if (access === undefined) throw new Error(`the route ${method} ${url} does not declare who may call it`);
    for (const verb of [method].flat()) routes.push({ method: verb, url, access });
  });

  app.addHook('onRequest', async (request, reply) => {
    const access = request.routeOptions.config.access;
    if (access === 'public') return;
    // Below /api, only authenticated callers learn whether a path exists.
    if (request.is404 && !/^\/api(?:[/?]|$)/.test(request.url)) return;

    const authentication = await authenticate(request);
    if (!authentication.known) {
      if (authentication.retryAfterSeconds !== null) {
        reply.header('retry-after', authentication.retryAfterSeconds);
        throw new ColdironError('rate_limited', authentication.reason);
      }
      reply.header('www-authenticate', 'Bearer');
      throw new ColdironError('unauthenticated', authentication.reason);
    }
    request.caller = authentication.caller;
    if (request.is404) return;
    if (access === undefined || !mayActAs(authentication.caller.role, access)) {
      throw new ColdironError('forbidden', `this needs the role ${access}; yours is ${authentication.caller.role}`);
    }
  });
}

/** The origin of a change, as the trail and the audit log record it. */
export function originOf(request: FastifyRequest): { actor: Actor; correlationId: string } {
  if (!request.caller) throw new Error(`${request.routeOptions.url} changes something and is public`);
  return { actor: request.caller.actor, correlationId: request.id };
}
