// JSON over a link, with the manners that BMCs need: a slash more or less, a connection dropped in between, "not now".

import { type Instant, SECOND } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import { type BmcClock, pause } from '../clock.ts';
import type { RedfishLimits } from './limits.ts';
import type { LinkAnswer, LinkRequest, RedfishLink } from './link.ts';
import { isNotNow, messagesIn } from './refusal.ts';

export interface Ask {
  readonly method: LinkRequest['method'];
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** True: a "not now" is the answer; whoever asks has something better to do than to ask again. */
  readonly once?: boolean;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null: nothing came, or nothing that is JSON. */
  readonly body: unknown;
}

export interface ConversationTools {
  /** Where the link leads to. */
  readonly origin: string;
  readonly link: RedfishLink;
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
}

/** Any status is an answer here; only silence, nonsense and strangers are errors. */
export type Converse = (ask: Ask, authorization: Readonly<Record<string, string>>, until: Instant) => Promise<Reply>;

const FIRST_PAUSE = SECOND;
const LONGEST_PAUSE = 15 * SECOND;

const COMMON_HEADERS = {
  accept: 'application/json',
  'odata-version': '4.0',
  // Compressed answers have weak ETags.
  'accept-encoding': 'identity',
};

export function conversation({ origin, link, clock, limits }: ConversationTools): Converse {
  const exchange = (request: LinkRequest, until: Instant): Promise<LinkAnswer> =>
    link.exchange(request, Math.min(until, clock.now() + limits.exchange));

  /** BMCs hang up on idle connections without a word. What may be sent twice is; a reset is not. */
  const persistently = async (request: LinkRequest, until: Instant): Promise<LinkAnswer> => {
    try {
      return await exchange(request, until);
    } catch (error) {
      const dropped = error instanceof BmcError && error.failure === 'vanished';
      if (!dropped || request.method === 'POST' || clock.now() >= until) throw error;
      return exchange(request, until);
    }
  };

  const politely = async (request: LinkRequest, until: Instant): Promise<LinkAnswer> => {
    const answer = await persistently(request, until);
    const { headers, method } = request;
    // HPE Gen10 Plus has some answers compressed only.
    if (answer.status === 406) return persistently({ ...request, headers: withoutIdentity(headers) }, until);
    if (method !== 'GET') return answer;
    const path = redirection(origin, request, answer) ?? otherSlash(request, answer);
    if (path === null) return answer;
    const second = await persistently({ ...request, path }, until);
    return answer.status === 404 && second.status === 404 ? answer : second;
  };

  return async (ask, authorization, until) => {
    const request = requestOf(ask, authorization);
    const patientUntil = Math.min(until, clock.now() + limits.patience);
    for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
      const reply = replyOf(request, await politely(request, until));
      const asked = Math.max(wait, retryAfter(reply));
      if (ask.once || !mayAskAgain(request, reply) || clock.now() + asked >= patientUntil) return reply;
      await pause(clock, asked);
    }
  };
}

function requestOf(ask: Ask, authorization: Readonly<Record<string, string>>): LinkRequest {
  const content = ask.body === undefined ? {} : { 'content-type': 'application/json' };
  return {
    method: ask.method,
    path: ask.path,
    headers: { ...COMMON_HEADERS, ...content, ...authorization, ...ask.headers },
    body: ask.body === undefined ? null : JSON.stringify(ask.body),
  };
}

const withoutIdentity = ({
  'accept-encoding': _,
  ...headers
}: Readonly<Record<string, string>>): Record<string, string> => headers;

/** To another place of the same BMC; anywhere else is not gone to, with or without credentials. */
function redirection(origin: string, request: LinkRequest, { status, headers }: LinkAnswer): string | null {
  if (![301, 302, 303, 307, 308].includes(status)) return null;
  const { location = '' } = headers;
  if (location === '' || !URL.canParse(location, origin)) {
    throw new BmcError('malformed', `GET ${request.path}: the BMC redirects to nowhere`);
  }
  const to = new URL(location, origin);
  if (to.origin === origin) return `${to.pathname}${to.search}`;
  throw new BmcError('untrusted', `GET ${request.path}: the BMC sends us to ${to.host}, where we do not go`);
}

/** Some know a resource with the slash at its end, some without. */
function otherSlash(request: LinkRequest, { status }: LinkAnswer): string | null {
  if (status !== 404 || request.path.includes('?')) return null;
  return request.path.endsWith('/') ? request.path.slice(0, -1) : `${request.path}/`;
}

function replyOf(request: LinkRequest, { status, headers, body }: LinkAnswer): Reply {
  if (body.trim() === '') return { status, headers, body: null };
  try {
    return { status, headers, body: JSON.parse(body) };
  } catch {
    if (request.method === 'GET' && status < 300) {
      throw new BmcError('malformed', `GET ${request.path}: the answer is not JSON`);
    }
    return { status, headers, body: null };
  }
}

/** An action that was turned away without a known reason may have been begun. */
function mayAskAgain({ method }: LinkRequest, { status, headers, body }: Reply): boolean {
  const messages = messagesIn(body);
  if (!isNotNow({ status, messages })) return false;
  return method !== 'POST' || 'retry-after' in headers || isNotNow({ status: 400, messages });
}

const retryAfter = ({ headers }: Reply): number => {
  const seconds = Number(headers['retry-after']);
  return Number.isFinite(seconds) ? Math.min(seconds * SECOND, LONGEST_PAUSE) : 0;
};
