// JSON over a link, with workarounds for BMCs: the trailing slash, dropped connections, temporary refusals.

import { type Instant, SECOND } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import { type BmcClock, pause } from '../clock.ts';
import type { RedfishLimits } from './limits.ts';
import type { LinkReply, LinkRequest, RedfishLink } from './link.ts';
import { isTemporary, messagesIn } from './refusal.ts';

export interface RedfishRequest {
  readonly method: LinkRequest['method'];
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** True: a temporary refusal is returned instead of retried. */
  readonly once?: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: no body, or no JSON. */
  readonly body: unknown;
  /** The size of the body. */
  readonly bytes: number;
}

export interface ConversationDeps {
  /** The origin that the link connects to. */
  readonly origin: string;
  readonly link: RedfishLink;
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
}

/** Resolves for any status; rejects on a timeout, a malformed reply or an untrusted peer. */
export type Converse = (
  request: RedfishRequest,
  authorization: Readonly<Record<string, string>>,
  until: Instant,
) => Promise<Reply>;

const FIRST_PAUSE = SECOND;
const LONGEST_PAUSE = 15 * SECOND;

const COMMON_HEADERS = {
  accept: 'application/json',
  'odata-version': '4.0',
  // Compressed replies have weak ETags.
  'accept-encoding': 'identity',
};

export function conversation({ origin, link, clock, limits }: ConversationDeps): Converse {
  const exchange = (request: LinkRequest, until: Instant): Promise<LinkReply> =>
    link.exchange(request, Math.min(until, clock.now() + limits.exchange));

  /** BMCs silently close idle connections. Retries requests that are safe to repeat; never a POST. */
  const withRetry = async (request: LinkRequest, until: Instant): Promise<LinkReply> => {
    try {
      return await exchange(request, until);
    } catch (error) {
      const dropped = error instanceof BmcError && error.failure === 'vanished';
      if (!dropped || request.method === 'POST' || clock.now() >= until) throw error;
      return exchange(request, until);
    }
  };

  const adapted = async (request: LinkRequest, until: Instant): Promise<LinkReply> => {
    const reply = await withRetry(request, until);
    const { headers, method } = request;
    // HPE Gen10 Plus sends some replies only compressed.
    if (reply.status === 406) return withRetry({ ...request, headers: withoutIdentity(headers) }, until);
    if (method !== 'GET') return reply;
    const path = redirection(origin, request, reply) ?? otherSlash(request, reply);
    if (path === null) return reply;
    const second = await withRetry({ ...request, path }, until);
    return reply.status === 404 && second.status === 404 ? reply : second;
  };

  return async (unsent, authorization, until) => {
    const request = requestOf(unsent, authorization);
    const retryUntil = Math.min(until, clock.now() + limits.retry);
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
      const reply = replyOf(request, await adapted(request, until));
      const delay = Math.max(wait, retryAfter(reply));
      if (unsent.once || !mayRetry(request, reply) || clock.now() + delay >= retryUntil) return reply;
      await pause(clock, delay);
    }
  };
}

function requestOf(request: RedfishRequest, authorization: Readonly<Record<string, string>>): LinkRequest {
  const content = request.body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    method: request.method,
    path: request.path,
    headers: { ...COMMON_HEADERS, ...content, ...authorization, ...request.headers },
    body: request.body === undefined ? null : JSON.stringify(request.body),
  };
}

const withoutIdentity = ({
  'accept-encoding': _,
  ...headers
}: Readonly<Record<string, string>>): Record<string, string> => headers;

/** Only to another path of the same BMC; other origins are never followed, with or without credentials. */
function redirection(origin: string, request: LinkRequest, { status, headers }: LinkReply): string | null {
  if (![301, 302, 303, 307, 308].includes(status)) return null;
  const { location = '' } = headers;
  if (location === '' || !URL.canParse(location, origin)) {
    throw new BmcError('malformed', `GET ${request.path}: the BMC redirects without a valid location`);
  }
  const to = new URL(location, origin);
  if (to.origin === origin) return `${to.pathname}${to.search}`;
  throw new BmcError(
    'untrusted',
    `GET ${request.path}: the BMC redirects to ${to.host}, and redirects to other hosts are not followed`,
  );
}

/** Some BMCs require the slash at the end of a path, some forbid it. */
function otherSlash(request: LinkRequest, { status }: LinkReply): string | null {
  if (status !== 404 || request.path.includes('?')) return null;
  return request.path.endsWith('/') ? request.path.slice(0, -1) : `${request.path}/`;
}

function replyOf(request: LinkRequest, { status, headers, body, bytes }: LinkReply): Reply {
  if (body.trim() === '') return { status, headers, body: null, bytes };
  try {
    return { status, headers, body: JSON.parse(body), bytes };
  } catch {
    if (request.method === 'GET' && status < 300) {
      throw new BmcError('malformed', `GET ${request.path}: the reply is not JSON`);
    }
    return { status, headers, body: null, bytes };
  }
}

/** A POST that was refused without a known reason may have started its action. */
function mayRetry({ method }: LinkRequest, { status, headers, body }: Reply): boolean {
  const messages = messagesIn(body);
  if (!isTemporary({ status, messages })) return false;
  return method !== 'POST' || 'retry-after' in headers || isTemporary({ status: 400, messages });
}

const retryAfter = ({ headers }: Reply): number => {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) ? Math.min(seconds * SECOND, LONGEST_PAUSE) : 0;
};
