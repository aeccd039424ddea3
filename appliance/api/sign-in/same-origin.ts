// Whether a request comes from the appliance's own page. A browser sends cookies with requests of other pages too, so a cookie
// alone is no proof that its holder wants the request.

import type { IncomingHttpHeaders } from 'node:http';

/** A header that a form of another page cannot send, and a script only after a preflight that is never answered. */
export const PAGE_HEADER = 'x-coldiron-page';

export interface PageRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
}

/** The reason to refuse a request that is authenticated by a cookie; null: it comes from our page, or changes nothing. */
export function crossSiteReason({ method, headers }: PageRequest): string | null {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return 'another page sent this request';
  const reads = method === 'GET' || method === 'HEAD';
  // A WebSocket is opened with GET, and its handshake takes no headers of ours: there the origin decides alone.
  if (reads && headers.upgrade === undefined) return null;
  if (!isOwnOrigin(headers)) return 'its Origin header does not name this appliance';
  if (!reads && headers[PAGE_HEADER] === undefined) return `it has no ${PAGE_HEADER} header`;
  return null;
}

/** The host decides, not the scheme: TLS may end at a proxy in front of the appliance. */
function isOwnOrigin({ origin, host }: IncomingHttpHeaders): boolean {
  if (origin === undefined || host === undefined || !URL.canParse(origin)) return false;
  return new URL(origin).host === host.toLowerCase();
}
