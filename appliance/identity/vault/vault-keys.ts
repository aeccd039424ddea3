// The keys that secrets are sealed with: one per line of a file, the newest last. A line that is added makes a new key the
// one to seal with; the older ones still open what they sealed.

import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';
import { type PrivateRead, readPrivately, writeOnce } from './private-file.ts';

export interface VaultKey {
  /** Names the key without telling anything about it. */
  readonly id: string;
  readonly secret: Secret;
}

export interface VaultKeys {
  /** Where they come from, for error messages. */
  readonly place: string;
  readonly newest: VaultKey;
  readonly byId: ReadonlyMap<string, VaultKey>;
}

const KEY_BYTES = 32;
/** systemd.exec(5), LoadCredential=: the service manager hands the key over and no file of ours holds it. */
const CREDENTIAL_NAME = 'coldiron-vault-key';

/** From the service manager where it has one, otherwise from the state folder, where the first use makes one. */
export async function loadVaultKeys(state: string, credentialsFolder: string | undefined): Promise<VaultKeys> {
  if (credentialsFolder) {
    const place = join(credentialsFolder, CREDENTIAL_NAME);
    // systemd gives a service's own user access through an ACL, which shows as a right of the group.
    const read = await readPrivately(place, 'group');
    if (read.kind !== 'absent') return keysFrom(read, place);
  }
  const file = join(state, 'vault-key');
  const found = await readPrivately(file, 'nobody');
  if (found.kind !== 'absent') return keysFrom(found, file);
  await writeOnce(file, `${newKeyText()}\n`);
  return keysFrom(await readPrivately(file, 'nobody'), file);
}

export const newKeyText = (): string => randomBytes(KEY_BYTES).toString('base64url');

function keysFrom(read: PrivateRead, place: string): VaultKeys {
  if (read.kind === 'absent') throw unusable(`${place} has gone`);
  if (read.kind === 'refused') throw unusable(read.reason);
  const keys = parseVaultKeys(read.bytes.toString('utf8'), place);
  if (!keys.ok) throw unusable(keys.reason);
  return keys.value;
}

const unusable = (reason: string): ColdironError => new ColdironError('vault_unavailable', reason);

/** Reasons name the line and never what is in it. */
export function parseVaultKeys(text: string, place: string): Parsed<VaultKeys> {
  const byId = new Map<string, VaultKey>();
  let newest: VaultKey | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.trim();
    if (content === '' || content.startsWith('#')) continue;
    if (!/^[A-Za-z0-9_-]{43}$/.test(content)) {
      return unparsable(`${place}: line ${index + 1} is not a vault key (${KEY_BYTES} random bytes in base64url)`);
    }
    newest = vaultKey(Buffer.from(content, 'base64url'));
    byId.set(newest.id, newest);
  }
  return newest === null ? unparsable(`${place} holds no vault key`) : parsed({ place, newest, byId });
}

const vaultKey = (bytes: Buffer): VaultKey => ({
  id: createHash('sha256').update('coldiron vault key\0').update(bytes).digest('hex').slice(0, 16),
  secret: new Secret(bytes),
});
