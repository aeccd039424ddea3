// Creates API tokens. The secret is returned once, to the caller; the store gets its hash.

import { createHash, randomBytes } from 'node:crypto';
import { ColdironError } from '../domain/errors.ts';
import type { Actor } from '../domain/event.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import { parseObjectName } from '../domain/names.ts';
import { type ApiToken, isUsable, parseTokenText, type Role, type TokenText } from '../domain/token.ts';
import type { Store } from '../store/store.ts';
import type { Clock } from './clock.ts';

export interface TokenRequest {
  readonly name: string;
  readonly role: Role;
  readonly expiresAt: Instant | null;
  readonly actor: Actor;
  readonly correlationId: string | null;
}

type TokenStore = Pick<Store, 'tokens' | 'createToken'>;

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');

export const newTokenText = (): string =>
  `ci_${randomBytes(6).toString('hex')}_${randomBytes(32).toString('base64url')}`;

export async function createApiToken(
  store: TokenStore,
  request: TokenRequest,
  clock: Clock,
): Promise<{ token: ApiToken; text: string }> {
  const text = newTokenText();
  return { token: await keepToken(store, text, request, clock), text };
}

/** Registers a token whose secret already exists. */
export async function keepToken(
  store: TokenStore,
  text: string,
  request: TokenRequest,
  clock: Clock,
): Promise<ApiToken> {
  const name = parseObjectName(request.name);
  if (!name.ok) throw new ColdironError('invalid_request', `name: ${name.reason}`);
  const now = clock.now();
  // The audit log identifies the holder by this name, so two usable tokens never share one.
  if ((await store.tokens()).some((token) => token.name === name.value && isUsable(token, now))) {
    throw new ColdironError(
      'conflict',
      `there is a usable token named ${name.value}; revoke it or choose another name`,
    );
  }

  const { id, secret }: TokenText = mustBeToken(text);
  const { role, expiresAt, actor, correlationId } = request;
  const token: ApiToken = { id, name: name.value, role, createdAt: now, expiresAt, revokedAt: null };
  await store.createToken(token, hashSecret(secret), {
    at: now,
    actor,
    action: 'token.created',
    target: `token:${name.value}`,
    correlationId,
    before: null,
    after: { id, role, expires_at: expiresAt === null ? null : instantText(expiresAt) },
  });
  return token;
}

function mustBeToken(text: string): TokenText {
  const token = parseTokenText(text);
  if (!token.ok) throw new ColdironError('invalid_request', token.reason);
  return token.value;
}
