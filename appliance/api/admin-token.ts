// The first API token of a new appliance: written to a file that only the appliance's user can read, and never to a log. It expires
// after a day, and its file is deleted then. Whoever can open the socket in the state folder creates other tokens at any time.

import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { DAY } from '../domain/instant.ts';
import { isUsable, parseTokenText } from '../domain/token.ts';
import { readPrivately, writeOnce } from '../identity/vault/private-file.ts';
import type { Store } from '../store/store.ts';
import { keepToken, newTokenText } from './api-token.ts';
import type { Clock } from './clock.ts';

const LIFETIME = DAY;

const fileIn = (stateDir: string): string => join(stateDir, 'admin-token');

/**
 * Creates one only for a store without tokens. The file is written first and the store second: after a crash in between, the
 * next start registers the token of the file, so that nobody is locked out. Returns the file; null: there is none any more.
 */
export async function ensureAdminToken(
  store: Pick<Store, 'tokens' | 'createToken'>,
  stateDir: string,
  clock: Clock,
): Promise<string | null> {
  const file = fileIn(stateDir);
  if ((await store.tokens()).length > 0) return (await deleteOldAdminToken(store, stateDir, clock)) ? null : file;

  await writeOnce(file, `${newTokenText()}\n`);
  const text = await readOwn(file);
  const expiresAt = clock.now() + LIFETIME;
  const request = { name: 'admin', role: 'admin', expiresAt, actor: 'appliance', correlationId: null } as const;
  await keepToken(store, text, request, clock);
  return file;
}

/**
 * Deletes the file unless its token works and expires. Earlier versions wrote a token that never expires: it remains valid until it
 * is revoked, but not readable. Returns whether the file is gone.
 */
export async function deleteOldAdminToken(
  store: Pick<Store, 'tokens'>,
  stateDir: string,
  clock: Clock,
): Promise<boolean> {
  const file = fileIn(stateDir);
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return true;
  const written = parseTokenText(text.trim());
  // Not our file.
  if (!written.ok) return false;
  const token = (await store.tokens()).find(({ id }) => id === written.value.id);
  if (token && token.expiresAt !== null && isUsable(token, clock.now())) return false;
  await rm(file, { force: true });
  return true;
}

async function readOwn(file: string): Promise<string> {
  const read = await readPrivately(file, 'nobody');
  if (read.kind === 'refused') {
    throw new ColdironError('conflict', `${read.reason}; its token is not taken over: delete it`);
  }
  const text = read.kind === 'absent' ? '' : read.bytes.toString('utf8').trim();
  if (parseTokenText(text).ok) return text;
  throw new ColdironError('conflict', `${file} holds no token; delete it, and the next start writes a new one`);
}
