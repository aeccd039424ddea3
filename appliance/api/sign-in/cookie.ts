// The cookie of the web page (RFC 6265). The prefix __Host- ties it to this host and to secure connections; browsers treat
// loopback as one.

import type { IncomingHttpHeaders } from 'node:http';

const NAME = '__Host-coldiron';
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict';

export const sessionCookie = (value: string, seconds: number): string =>
  `${NAME}=${value}; Max-Age=${seconds}; ${ATTRIBUTES}`;

export const NO_SESSION_COOKIE = `${NAME}=; Max-Age=0; ${ATTRIBUTES}`;

/** The value of our cookie; null: the request has none. */
export function cookieOf({ cookie }: Pick<IncomingHttpHeaders, 'cookie'>): string | null {
  for (const pair of (cookie ?? '').split(';')) {
    const [name, ...value] = pair.trim().split('=');
    if (name === NAME) return value.join('=');
  }
  return null;
}
