// The two proofs of identity the management API knows: a bearer token, and having reached the unix socket.

import { timingSafeEqual } from 'node:crypto';
import { isUsable, parseTokenText } from '../domain/token.ts';
import type { Store } from '../store/store.ts';
import type { Authenticate, Authentication } from './access.ts';
import { hashSecret } from './api-token.ts';
import type { Clock } from './clock.ts';
import { FailedAttempts } from './failed-attempts.ts';

const unknown = (reason: string): Authentication => ({ known: false, reason, retryAfterSeconds: null });

/** Reaching the socket file is the permission (mode 0600): whoever can is the appliance's own user or root. */
export const localAuthenticator =
  (user: string): Authenticate =>
  async () => ({ known: true, caller: { actor: `local:${user}`, role: 'admin' } });

export function bearerAuthenticator(store: Pick<Store, 'token'>, clock: Clock): Authenticate {
  const failures = new FailedAttempts(clock);

  return async (request) => {
    const header = request.headers.authorization;
    // Nothing was presented, so nothing was guessed: this is not counted.
    if (header === undefined) return unknown('no token was sent');

    const wait = failures.secondsToWait(request.ip);
    if (wait > 0) {
      const reason = `too many failed attempts from ${request.ip}; try again in ${wait} s`;
      return { known: false, reason, retryAfterSeconds: wait };
    }
    const authentication = await checkToken(store, header, clock);
    if (!authentication.known) failures.count(request.ip);
    return authentication;
  };
}

async function checkToken(store: Pick<Store, 'token'>, header: string, clock: Clock): Promise<Authentication> {
  const text = /^Bearer +(\S+) *$/i.exec(header)?.[1];
  const presented = parseTokenText(text ?? '');
  if (!presented.ok) return unknown(`the Authorization header holds no token: ${presented.reason}`);

  const found = await store.token(presented.value.id);
  const matches =
    found !== null &&
    timingSafeEqual(Buffer.from(found.secretHash, 'hex'), Buffer.from(hashSecret(presented.value.secret), 'hex'));
  if (!matches) return unknown('this token is not known');
  // Only whoever holds the secret learns what became of the token.
  if (found.token.revokedAt !== null) return unknown(`the token ${found.token.name} was revoked`);
  if (!isUsable(found.token, clock.now())) return unknown(`the token ${found.token.name} has expired`);
  return { known: true, caller: { actor: `token:${found.token.name}`, role: found.token.role } };
}
