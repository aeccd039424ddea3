// A person who is signed in to the web page. The cookie holds its secret; the store holds the hash.

import { HOUR, type Instant, MINUTE } from './instant.ts';
import { type Branded, type Parsed, parsed, unparsable } from './parsed.ts';
import type { Role, TokenId } from './token.ts';

export type WebSessionId = Branded<string, 'WebSessionId'>;

export interface WebSession {
  readonly id: WebSessionId;
  /** The token that it was opened with: without a usable one, the session is over. Null: opened in another way. */
  readonly token: TokenId | null;
  readonly actor: string;
  readonly role: Role;
  readonly createdAt: Instant;
  /** Accurate to a minute: not every request writes it. */
  readonly usedAt: Instant;
  /** The absolute limit. */
  readonly expiresAt: Instant;
}

export const WEB_SESSION_IDLE = 30 * MINUTE;
export const WEB_SESSION_LONGEST = 12 * HOUR;

/** When it ends if nothing more is requested. */
export const webSessionEnd = ({ usedAt, expiresAt }: WebSession): Instant =>
  Math.min(usedAt + WEB_SESSION_IDLE, expiresAt);

/** <id: 12 hex>.<secret: 43 base64url characters, 256 bits> */
export function parseSessionCookie(text: string): Parsed<{ readonly id: WebSessionId; readonly secret: string }> {
  const match = /^([0-9a-f]{12})\.([A-Za-z0-9_-]{43})$/.exec(text);
  if (!match?.[1] || !match[2]) return unparsable('not a session of the web page');
  return parsed({ id: match[1] as WebSessionId, secret: match[2] });
}
