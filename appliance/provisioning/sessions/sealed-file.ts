// Seals the secret files of a session with keys that only the machine can derive: from the seed that its TPM has opened, or
// that it has read from a medium of its BMC. The service OS opens them with openssl and sha256sum: the format is the one of
// `openssl enc -aes-256-ctr -pbkdf2 -iter 1000 -md sha256 -salt`, with an HMAC over it (encrypt, then authenticate).

import { createCipheriv, createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { mustParse } from '../../domain/parsed.ts';
import { parseSessionSecret, type SessionSecret } from '../../domain/session.ts';

/** 32 random bytes. Keys are derived from the text of its hexadecimal digits, which a shell can handle. */
export type SessionSeed = Uint8Array;

/** The answer for one file, as JSON. */
export interface SealedFile {
  readonly name: string;
  /** Base64: `Salted__`, the salt and the encrypted bytes. */
  readonly data: string;
  /** HMAC-SHA-256 over the name, a zero byte and the decoded data, in hexadecimal digits. */
  readonly mac: string;
}

export const SEALED_TYPE = 'application/vnd.coldiron.sealed+json';

const MAGIC = Buffer.from('Salted__', 'ascii');
const SALT_BYTES = 8;
/** The passphrase has 256 bits of entropy, so that the count needs to protect nothing. */
const ITERATIONS = 1000;
const KEY_BYTES = 32;
const VECTOR_BYTES = 16;

/** The bearer token of the session. */
export const sessionKeyOf = (seed: SessionSeed): SessionSecret =>
  mustParse(parseSessionSecret(derived('session', seed).toString('base64url')));

export function sealFile(
  seed: SessionSeed,
  name: string,
  content: string | Uint8Array,
  random: (size: number) => Uint8Array,
): SealedFile {
  const passphrase = derived(`encrypt ${name}`, seed).toString('hex');
  const salt = random(SALT_BYTES);
  const keys = pbkdf2Sync(passphrase, salt, ITERATIONS, KEY_BYTES + VECTOR_BYTES, 'sha256');
  const cipher = createCipheriv('aes-256-ctr', keys.subarray(0, KEY_BYTES), keys.subarray(KEY_BYTES));
  const data = Buffer.concat([MAGIC, salt, cipher.update(content), cipher.final()]);
  const authentication = createHmac('sha256', derived(`authenticate ${name}`, seed));
  const mac = authentication.update(`${name}\0`).update(data).digest('hex');
  return { name, data: data.toString('base64'), mac };
}

const derived = (use: string, seed: SessionSeed): Buffer =>
  createHash('sha256')
    .update(`coldiron ${use} ${Buffer.from(seed).toString('hex')}`)
    .digest();
