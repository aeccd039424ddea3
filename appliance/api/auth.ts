// The two authentication methods of the management API: a bearer token, and access to the unix socket.

import { timingSafeEqual } from 'node:crypto';
import { isUsable, parseTokenText, type TokenId } from '../domain/token.ts';
import type { Store } from '../store/store.ts';
import type { Authenticate, Authentication } from './access.ts';
import { hashSecret } from './api-token.ts';
import type { Clock } from './clock.ts';
import { FailedAttempts } from './failed-attempts.ts';

const unknown = (reason: string): Authentication => ({ known: false, reason, retryAfterSeconds: null });

/** The socket file has mode 0600: only the appliance's user or root can connect. */
export const localAuthenticator =
  (user: string): Authenticate =>
  async () => ({ known: true, caller: { actor: `local:${user}`, role: 'admin' } });

export function bearerAuthenticator(store: Pick<Store, 'token'>, clock: Clock): Authenticate {
  const failures = new FailedAttempts(clock);

  return async (request) => {
    const header = request.headers.authorization;
    // A request without a token is no guess, so it is not counted.
    if (header === undefined) return unknown('no token was sent');

    // The token is checked first: callers behind one proxy share an address, and wrong tokens must not block valid ones.
    const authentication = await checkToken(store, header, clock);
    if (authentication.known) return authentication;
    const wait = failures.secondsToWait(request.ip);
    if (wait > 0) {
      const reason = `too many failed attempts from ${request.ip}; try again in ${wait} s`;
      return { known: false, reason, retryAfterSeconds: wait };
    }
    failures.count(request.ip);
    return authentication;
  };
}

/** Compared with the hash of a token whose id is unknown, so that the time of the answer does not tell whether the id exists. */
const NO_HASH = '0'.repeat(64);

async function checkToken(store: Pick<Store, 'token'>, header: string, clock: Clock): Promise<Authentication> {
  const text = /^Bearer +(\S+) *$/i.exec(header)?.[1] ?? '';
  const presented = parseTokenText(text);
  if (!presented.ok) return unknown(`the Authorization header holds no token: ${presented.reason}`);
  return (await checkTokenText(store, text, clock)).authentication;
}

/** With the id of the token, when it is known. */
export async function checkTokenText(
  store: Pick<Store, 'token'>,
  text: string,
  clock: Clock,
): Promise<{ readonly authentication: Authentication; readonly token: TokenId | null }> {
  const presented = parseTokenText(text);
  if (!presented.ok) return { authentication: unknown(`this is ${presented.reason}`), token: null };
  const { id, secret } = presented.value;
  return { authentication: await checkSecret(store, id, secret, clock), token: id };
}

async function checkSecret(
  store: Pick<Store, 'token'>,
  id: TokenId,
  secret: string,
  clock: Clock,
): Promise<Authentication> {
  const found = await store.token(id);
  const expected = Buffer.from(found?.secretHash ?? NO_HASH, 'hex');
  const matches = timingSafeEqual(expected, Buffer.from(hashSecret(secret), 'hex'));
  if (found === null || !matches) return unknown('this token is not known');
  // Only a caller with the secret learns that the token was revoked or has expired.
  if (found.token.revokedAt !== null) return unknown(`the token ${found.token.name} was revoked`);
  if (!isUsable(found.token, clock.now())) return unknown(`the token ${found.token.name} has expired`);
  const { name, role } = found.token;
  const actor = `${role === 'agent' ? 'agent' : 'token'}:${name}` as const;
  return { known: true, caller: { actor, role, token: id } };
}
