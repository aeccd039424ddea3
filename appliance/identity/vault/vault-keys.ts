// The vault keys: one per line of a file, the newest last. The last key seals; the older ones still open what they sealed.

import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';
import { type PrivateRead, readPrivately, writeOnce } from './private-file.ts';

export interface VaultKey {
  /** Identifies the key without revealing it. */
  readonly id: string;
  readonly secret: Secret;
}

export interface VaultKeys {
  /** The file they come from, for error messages. */
  readonly source: string;
  readonly newest: VaultKey;
  readonly byId: ReadonlyMap<string, VaultKey>;
}

const KEY_BYTES = 32;
/** systemd.exec(5), LoadCredential=: the service manager provides the key; the appliance stores no copy. */
const CREDENTIAL_NAME = 'coldiron-vault-key';

/** From the service manager if it has one, otherwise from the state folder, where the first use creates one. */
export async function loadVaultKeys(state: string, credentialsFolder: string | undefined): Promise<VaultKeys> {
  if (credentialsFolder) {
    const source = join(credentialsFolder, CREDENTIAL_NAME);
    // systemd grants the service's user access through an ACL, which appears as a group permission.
    const read = await readPrivately(source, 'group');
    if (read.kind !== 'absent') return keysFrom(read, source);
  }
  const file = join(state, 'vault-key');
  const found = await readPrivately(file, 'nobody');
  if (found.kind !== 'absent') return keysFrom(found, file);
  await writeOnce(file, `${newKeyText()}\n`);
  return keysFrom(await readPrivately(file, 'nobody'), file);
}

export const newKeyText = (): string => randomBytes(KEY_BYTES).toString('base64url');

function keysFrom(read: PrivateRead, source: string): VaultKeys {
  if (read.kind === 'absent') throw unusable(`${source} was deleted while it was being created`);
  if (read.kind === 'refused') throw unusable(read.reason);
  const keys = parseVaultKeys(read.bytes.toString('utf8'), source);
  if (!keys.ok) throw unusable(keys.reason);
  return keys.value;
}

const unusable = (reason: string): ColdironError => new ColdironError('vault_unavailable', reason);

/** Reasons name the line, never its content. */
export function parseVaultKeys(text: string, source: string): Parsed<VaultKeys> {
  const byId = new Map<string, VaultKey>();
  let newest: VaultKey | null = null;
  for (const [index, line] of text.split('\n').entries()) {
    const content = line.trim();
    if (content === '' || content.startsWith('#')) continue;
    if (!/^[A-Za-z0-9_-]{43}$/.test(content)) {
      return unparsable(`${source}: line ${index + 1} is not a vault key (${KEY_BYTES} random bytes in base64url)`);
    }
    newest = vaultKey(Buffer.from(content, 'base64url'));
    byId.set(newest.id, newest);
  }
  return newest === null ? unparsable(`${source} contains no vault key`) : parsed({ source, newest, byId });
}

const vaultKey = (bytes: Buffer): VaultKey => ({
  id: createHash('sha256').update('coldiron vault key\0').update(bytes).digest('hex').slice(0, 16),
  secret: new Secret(bytes),
});
