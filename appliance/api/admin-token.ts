// The first API token of a new appliance: written to a file that only the appliance's user can read, and
// never to a log.

import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { parseTokenText } from '../domain/token.ts';
import { readPrivately, writeOnce } from '../identity/vault/private-file.ts';
import type { Store } from '../store/store.ts';
import { keepToken, newTokenText } from './api-token.ts';
import type { Clock } from './clock.ts';

/**
 * Creates one only for a store without tokens. The file is written first and the store second: after a crash in between, the
 * next start registers the token of the file, so that nobody is locked out.
 */
export async function ensureAdminToken(
  store: Pick<Store, 'tokens' | 'createToken'>,
  stateDir: string,
  clock: Clock,
): Promise<{ file: string; created: boolean }> {
  const file = join(stateDir, 'admin-token');
  if ((await store.tokens()).length > 0) return { file, created: false };

  await writeOnce(file, `${newTokenText()}\n`);
  const text = await readOwn(file);
  await keepToken(
    store,
    text,
    { name: 'admin', role: 'admin', expiresAt: null, actor: 'appliance', correlationId: null },
    clock,
  );
  return { file, created: true };
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
