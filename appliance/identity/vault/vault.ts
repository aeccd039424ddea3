// Secrets at rest: AES-256-GCM (NIST SP 800-38D) with a random nonce. Each is bound to its owner, so that a sealed text moved to
// another row does not open, and to the address of its BMC, so that it is never sent to a changed address.
//
//   v2 . key id . address . nonce . ciphertext and tag          base64url, 96-bit nonce, 128-bit tag
//   additional authenticated data: version, key id, address, machine, purpose

import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { ColdironError } from '../../domain/errors.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { SealedText } from '../../domain/sealed-text.ts';
import { Secret } from '../../domain/secret.ts';
import type { VaultKey, VaultKeys } from './vault-keys.ts';

/** The machine and the purpose of a secret. */
export interface SecretOwner {
  readonly machine: MachineId;
  readonly purpose: 'bmc-password' | 'bmc-key';
}

export interface Vault {
  /** `address`: of the only BMC that may receive it. */
  seal(owner: SecretOwner, address: Ipv4, secret: Secret): SealedText;
  /**
   * Throws `vault_unavailable` if the key is missing or the text was not sealed for this owner, `bmc_login_failed` if it was
   * sealed for a BMC at another address.
   */
  open(owner: SecretOwner, address: Ipv4, sealed: SealedText): Secret;
  /** The same secret for the same BMC under the newest key. */
  reseal(owner: SecretOwner, sealed: SealedText): SealedText;
  /** False: sealed with an older key. */
  isFresh(sealed: SealedText): boolean;
}

const VERSION = 'v2';
const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

export function createVault(keys: VaultKeys): Vault {
  return {
    seal: (owner, address, secret) => seal(keys.newest, owner, address, secret),
    open: (owner, address, sealed) => {
      const opened = open(keys, owner, sealed);
      if (opened.address !== address) throw forAnother(owner, opened.address, address);
      return opened.secret;
    },
    reseal: (owner, sealed) => {
      const { address, secret } = open(keys, owner, sealed);
      return seal(keys.newest, owner, address, secret);
    },
    isFresh: (sealed) => sealed.startsWith(`${VERSION}.${keys.newest.id}.`),
  };
}

function seal(key: VaultKey, owner: SecretOwner, address: string, secret: Secret): SealedText {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key.secret.reveal(), nonce);
  cipher.setAAD(boundTo(key, owner, address));
  const sealed = Buffer.concat([cipher.update(secret.reveal()), cipher.final(), cipher.getAuthTag()]);
  const parts = [Buffer.from(address), nonce, sealed].map((bytes) => bytes.toString('base64url'));
  return [VERSION, key.id, ...parts].join('.') as SealedText;
}

interface Opened {
  /** As it was sealed: authenticated. */
  readonly address: string;
  readonly secret: Secret;
}

function open(keys: VaultKeys, owner: SecretOwner, text: SealedText): Opened {
  const [version, keyId, addressText, nonceText, sealedText, ...rest] = text.split('.');
  if (version !== VERSION || !keyId || !addressText || !nonceText || !sealedText || rest.length > 0) {
    throw unopened(owner, 'is not a sealed secret of this version');
  }
  const key = keys.byId.get(keyId);
  if (!key) throw unopened(owner, `was sealed with the key ${keyId}, which ${keys.source} does not have`);
  const [nonce, sealed] = [Buffer.from(nonceText, 'base64url'), Buffer.from(sealedText, 'base64url')];
  if (nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES) throw unopened(owner, 'was truncated');
  const address = Buffer.from(addressText, 'base64url').toString('utf8');
  const decipher = createDecipheriv(CIPHER, key.secret.reveal(), nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(boundTo(key, owner, address));
  decipher.setAuthTag(sealed.subarray(-TAG_BYTES));
  try {
    const bytes = Buffer.concat([decipher.update(sealed.subarray(0, -TAG_BYTES)), decipher.final()]);
    return { address, secret: new Secret(bytes) };
  } catch {
    throw unopened(owner, 'was modified, or was sealed for another owner');
  }
}

const boundTo = (key: VaultKey, { machine, purpose }: SecretOwner, address: string): Buffer =>
  Buffer.from(JSON.stringify(['coldiron vault', VERSION, key.id, address, machine, purpose]));

const unopened = ({ machine, purpose }: SecretOwner, what: string): ColdironError =>
  new ColdironError('vault_unavailable', `the ${purpose} of node ${machine} ${what}`);

const forAnother = ({ purpose }: SecretOwner, sealedFor: string, address: string): ColdironError =>
  new ColdironError(
    'bmc_login_failed',
    `the ${purpose} in the vault is for the BMC at ${sealedFor}, but the BMC address is now ${address}: ` +
      'if that is correct, set the credentials again',
  );
