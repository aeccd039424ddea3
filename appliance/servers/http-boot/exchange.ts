// One request below /boot/ and its response. Header names keep their case: GRUB looks for `Content-Length: ` in exactly this
// case.

import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { ColdironError, ERRORS } from '../../domain/errors.ts';
import { type Ipv4, parseIpv4 } from '../../domain/ipv4.ts';

export interface BootExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The client address; null if it is not IPv4. */
  readonly address: Ipv4 | null;
  readonly correlationId: string;
}

export function exchangeOf(request: IncomingMessage, response: ServerResponse, correlationId: string): BootExchange {
  const url = request.url ?? '';
  const mark = url.indexOf('?');
  return {
    request,
    response,
    path: mark === -1 ? url : url.slice(0, mark),
    // iPXE encodes a space as %20 and leaves a plus unchanged, in serial numbers and in its own version.
    query: new URLSearchParams(mark === -1 ? '' : url.slice(mark + 1).replaceAll('+', '%2B')),
    address: ipv4Of(request.socket.remoteAddress),
    correlationId,
  };
}

/** A socket that listens on :: shows IPv4 peers as ::ffff:10.0.0.1. */
export function ipv4Of(address: string | undefined): Ipv4 | null {
  const parsed = parseIpv4((address ?? '').replace(/^::ffff:/i, ''));
  return parsed.ok ? parsed.value : null;
}

export function sendText({ request, response }: BootExchange, text: string): void {
  const body = Buffer.from(text);
  response.writeHead(200, {
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Length': body.length,
    'Cache-Control': 'no-store',
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

export interface ErrorDetails {
  /** Overrides the status of the error table: 405, 412, 416. */
  readonly status?: number;
  readonly headers?: OutgoingHttpHeaders;
}

/** The common error envelope; iPXE does not display JSON, so it gets the same as one line of text. */
export function sendBootError(
  exchange: BootExchange,
  error: ColdironError,
  { status, headers }: ErrorDetails = {},
): void {
  const { request, response, correlationId } = exchange;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const plain = request.headers['user-agent']?.startsWith('iPXE') === true;
  const envelope = { code: error.code, message: error.message, correlation_id: correlationId };
  const body = Buffer.from(plain ? `${error.code}: ${error.message} (${correlationId})\n` : JSON.stringify(envelope));
  response.writeHead(status ?? ERRORS[error.code].status, {
    'Content-Type': plain ? 'text/plain; charset=utf-8' : 'application/json; charset=utf-8',
    'Content-Length': body.length,
    'X-Correlation-Id': correlationId,
    ...headers,
  });
  response.end(request.method === 'HEAD' ? undefined : body);
}

export const asColdironError = (error: unknown): ColdironError =>
  error instanceof ColdironError
    ? error
    : new ColdironError('internal', 'internal error; the log has details under this correlation id');
