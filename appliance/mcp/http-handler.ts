// The protocol behind /mcp: both eras of the Model Context Protocol, without sessions. One server object for each request.

import { createMcpHandler } from '@modelcontextprotocol/server';
import type { HandlerDeps } from '../api/handler.ts';
import type { AgentCall } from './call-tool.ts';
import { buildServer } from './server.ts';

export interface HttpHandler {
  serve(request: Request, body: unknown, call: AgentCall): Promise<Response>;
  close(): Promise<void>;
}

export function openHttpHandler(deps: HandlerDeps, version: string): HttpHandler {
  const handler = createMcpHandler(({ authInfo }) => buildServer(deps, version, authInfo?.extra?.call as AgentCall), {
    onerror: (error) => deps.logger.debug({ err: error }, 'mcp'),
  });
  return {
    serve: (request, body, call) => {
      // The token was checked before, and the server has no use for it.
      const authInfo = { token: '', clientId: call.agent.actor, scopes: [], extra: { call } };
      return handler.fetch(request, { authInfo, ...(body !== undefined && { parsedBody: body }) });
    },
    close: () => handler.close(),
  };
}
