// Sends a response in the format that the caller accepts: JSON, or plain text for a shell: one line per field, multi-line
// values in base64.

import type { FastifyReply, FastifyRequest } from 'fastify';

export type ResponseFields = Readonly<Record<string, string | number | boolean>>;

const PLAIN = 'text/plain';

export function sendFields(request: FastifyRequest, reply: FastifyReply, fields: ResponseFields): FastifyReply {
  reply.header('vary', 'accept');
  return request.headers.accept?.includes(PLAIN)
    ? reply.type(`${PLAIN}; charset=utf-8`).send(lines(fields))
    : reply.type('application/json; charset=utf-8').send(JSON.stringify(fields));
}

export const lines = (fields: ResponseFields): string =>
  Object.entries(fields)
    .map(([name, value]) => {
      const text = String(value);
      return text.includes('\n') ? `${name}.base64 ${Buffer.from(text).toString('base64')}\n` : `${name} ${text}\n`;
    })
    .join('');
