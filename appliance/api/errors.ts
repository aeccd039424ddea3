// Every failure is answered as {code, message, correlation_id}, with the status of the table in domain/errors.ts.

import type { FastifyReply, FastifyRequest } from 'fastify';
import { ColdironError, ERRORS } from '../domain/errors.ts';
import { shown } from '../domain/parsed.ts';
import { ReplayedError } from './request-ledger.ts';

export interface Envelope {
  readonly code: string;
  readonly message: string;
  readonly correlation_id: string;
  readonly details?: readonly string[];
  readonly hint?: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The internal cause of the failure, for the log line of the request. */
    failure: unknown;
    /** The error that was answered, for the log line of the request. */
    refusal: ColdironError | undefined;
  }
}

export function envelope(error: ColdironError, correlationId: string): Envelope {
  return {
    code: error.code,
    message: error.message,
    correlation_id: correlationId,
    ...(error.details.length > 0 && { details: error.details }),
    ...(error.hint !== ERRORS[error.code].hint && { hint: error.hint }),
  };
}

export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const known = asColdironError(error);
  const status = statusOf(known, request);
  if (known instanceof ReplayedError) reply.header('idempotent-replayed', 'true');
  request.refusal = known;
  if (status >= 500) request.failure = error;
  return reply
    .code(status)
    .header('x-correlation-id', request.id)
    .type('application/json; charset=utf-8')
    .serializer((payload: unknown) => JSON.stringify(payload))
    .send(envelope(known, request.id));
}

/** 412 only where the caller named a version (RFC 9110 §15.5.13); otherwise another writer was faster, which is a conflict. */
function statusOf({ code }: ColdironError, { headers }: FastifyRequest): number {
  const named = headers['if-match'];
  return code === 'version_conflict' && named !== undefined && named.trim() !== '*' ? 412 : ERRORS[code].status;
}

export function sendNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const path = request.url.split('?', 1)[0];
  return sendError(new ColdironError('not_found', `there is no ${request.method} ${shown(path)}`), request, reply);
}

/** Fastify's own client errors, reworded where its messages describe its own API. */
const FRAMEWORK_ERRORS: Readonly<Record<string, ConstructorParameters<typeof ColdironError>>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['payload_too_large', 'the body is larger than this route takes'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: ['invalid_request', 'the body must be JSON, sent as application/json'],
  FST_ERR_CTP_EMPTY_JSON_BODY: ['invalid_request', 'the body is empty, though its content type says JSON'],
  FST_ERR_CTP_INVALID_JSON_BODY: ['invalid_request', 'the body is not valid JSON'],
  FST_ERR_BAD_URL: ['invalid_request', 'the path is not a valid URL path'],
  FST_ERR_MAX_PARAM_LENGTH: ['invalid_request', 'a part of the path is too long'],
};

function asColdironError(error: unknown): ColdironError {
  if (error instanceof ColdironError) return error;
  if (error instanceof Error) {
    const { code, statusCode } = error as { code?: string; statusCode?: number };
    const refusal = FRAMEWORK_ERRORS[code ?? ''];
    if (refusal) return new ColdironError(...refusal);
    if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
      return new ColdironError('invalid_request', error.message);
    }
  }
  return new ColdironError('internal', 'internal error; find the correlation id in the log');
}
