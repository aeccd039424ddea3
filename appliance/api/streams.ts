// Answers without end: they pass the same routes, authentication and errors as every other answer, and end when the API stops.

import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import type { App } from './base-app.ts';

export interface Streams {
  open(reply: FastifyReply, headers: Readonly<Record<string, string>>): ServerResponse;
}

/** Otherwise the server would wait for them. */
export function acceptStreams(app: App): Streams {
  const open = new Set<ServerResponse>();
  app.addHook('preClose', async () => {
    for (const response of open) response.end();
  });
  return {
    open: (reply, headers) => {
      reply.hijack();
      const response = reply.raw;
      open.add(response);
      response.on('close', () => open.delete(response));
      // What the hooks of every route have set.
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) response.setHeader(name, value);
      }
      response.writeHead(200, headers);
      response.flushHeaders();
      // HEAD asks for the headers alone.
      if (reply.request.method === 'HEAD') response.end();
      return response;
    },
  };
}
