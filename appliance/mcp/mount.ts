// Mounts the MCP server at /mcp of the management listener: streamable HTTP, behind the same authentication as every route.

import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../api/base-app.ts';
import type { HandlerDeps } from '../api/handler.ts';
import { ColdironError } from '../domain/errors.ts';
import { agentOf } from './agent.ts';
import type { HttpHandler } from './http-handler.ts';
import { MCP_PATH } from './mcp-path.ts';

export function mountMcp(app: App, deps: HandlerDeps, version: string): void {
  // Loaded with the first request: most appliances serve no agent, and the package is large.
  let loading: Promise<HttpHandler> | null = null;
  const handler = (): Promise<HttpHandler> => {
    loading ??= import('./http-handler.ts').then(({ openHttpHandler }) => openHttpHandler(deps, version));
    return loading;
  };
  app.addHook('onClose', async () => {
    await (await loading)?.close();
  });
  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: MCP_PATH,
    // Each tool asks for the role of its operation.
    config: { access: 'viewer' },
    schema: { hide: true },
    handler: async (request, reply) => serve(await handler(), request, reply),
  });
}

async function serve(handler: HttpHandler, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { caller, raw, body, id, method, log } = request;
  if (!caller) throw new Error(`${MCP_PATH} is public`);
  // A browser sends a cookie without being asked; a token is sent on purpose.
  if (request.headers.authorization === undefined && !caller.actor.startsWith('local:')) {
    throw new ColdironError('unauthenticated', 'agents authenticate with a token: Authorization: Bearer …');
  }
  const left = new AbortController();
  raw.socket.once('close', () => left.abort());
  const { signal } = left;
  const asked = new Request(`http://coldiron${MCP_PATH}`, { method, headers: headersOf(request), signal });
  const answer = await handler.serve(asked, body, { agent: agentOf(caller, id), log, signal });
  reply.code(answer.status).header('cache-control', 'no-store');
  for (const [name, value] of answer.headers) reply.header(name, value);
  return reply.send(answer.body === null ? null : Readable.fromWeb(answer.body as ReadableStream));
}

/** Without the token, and without what describes a body that was already read. */
function headersOf({ headers }: FastifyRequest): Headers {
  const kept = new Headers();
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && !LEFT_OUT.has(name)) kept.set(name, String(value));
  }
  return kept;
}

const LEFT_OUT: ReadonlySet<string> = new Set(['authorization', 'content-length', 'transfer-encoding', 'cookie']);
