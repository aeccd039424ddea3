// Private keys, each in a file that only we can read, encrypted where a passphrase is given.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import { readPrivately, replacePrivately, writeOnce } from './vault/private-file.ts';

export interface KeyFolder {
  /** On disk when this resolves. A file that is there is left as it is. */
  write(id: string, key: KeyObject): Promise<void>;
  /** Opened once: a passphrase takes its time. `authority_unavailable` when it is missing, open to others, or does not open. */
  read(id: string): Promise<KeyObject>;
  /** A key that another one may take the place of, and the certificate that goes with it, in one file. */
  keep(name: string, key: KeyObject, certificatePem: string): Promise<void>;
  /** Null where there is none that can be used: whoever asks makes another. */
  kept(name: string): Promise<{ readonly key: KeyObject; readonly certificate: X509Certificate } | null>;
}

const CREDENTIAL_NAME = 'coldiron-ca-passphrase';

/** From the service manager (systemd.exec(5), LoadCredential=), or else from the named file; null where there is neither. */
export async function loadPassphrase(
  file: string | null,
  credentialsFolder: string | undefined,
): Promise<Secret | null> {
  if (credentialsFolder) {
    // systemd gives a service's own user access through an ACL, which shows as a right of the group.
    const passphrase = await readPassphrase(join(credentialsFolder, CREDENTIAL_NAME), 'group');
    if (passphrase) return passphrase;
  }
  if (file === null) return null;
  const passphrase = await readPassphrase(file, 'nobody');
  if (!passphrase) throw unusable(`there is no file ${file}, which should hold the passphrase of the keys`);
  return passphrase;
}

export async function openKeyFolder(folder: string, passphrase: Secret | null): Promise<KeyFolder> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  const fileOf = (id: string): string => join(folder, `${id}.key`);
  const pairOf = (name: string): string => join(folder, `${name}.pem`);
  const opened = new Map<string, KeyObject>();
  return {
    write: (id, key) => writeOnce(fileOf(id), keyText(key, passphrase)),
    read: async (id) => {
      const key = opened.get(id) ?? (await readKey(fileOf(id), passphrase));
      opened.set(id, key);
      return key;
    },
    keep: (name, key, certificatePem) => replacePrivately(pairOf(name), keyText(key, passphrase) + certificatePem),
    kept: async (name) => {
      const read = await readPrivately(pairOf(name), 'nobody');
      if (read.kind !== 'read') return null;
      try {
        const key = privateKey(read.bytes, passphrase);
        const certificate = new X509Certificate(read.bytes);
        return certificate.checkPrivateKey(key) ? { key, certificate } : null;
      } catch {
        return null;
      }
    },
  };
}

function keyText(key: KeyObject, passphrase: Secret | null): string {
  const encryption = passphrase ? { cipher: 'aes-256-cbc', passphrase: Buffer.from(passphrase.reveal()) } : {};
  return key.export({ format: 'pem', type: 'pkcs8', ...encryption }).toString();
}

async function readKey(file: string, passphrase: Secret | null): Promise<KeyObject> {
  const read = await readPrivately(file, 'nobody');
  if (read.kind === 'absent') throw unusable(`${file} is missing: bring it back from a backup, or rotate`);
  if (read.kind === 'refused') throw unusable(read.reason);
  const isEncrypted = read.bytes.includes('-----BEGIN ENCRYPTED PRIVATE KEY-----');
  if (isEncrypted && !passphrase) throw unusable(`${file} is encrypted, and no passphrase was given`);
  if (!isEncrypted && passphrase) {
    throw unusable(`${file} is not encrypted although a passphrase is given: openssl pkcs8 -topk8 -v2 aes-256-cbc`);
  }
  try {
    return privateKey(read.bytes, passphrase);
  } catch {
    throw unusable(isEncrypted ? `${file} does not open with the given passphrase` : `${file} holds no private key`);
  }
}

const privateKey = (pem: Buffer, passphrase: Secret | null): KeyObject =>
  createPrivateKey({
    key: pem,
    format: 'pem',
    ...(passphrase ? { passphrase: Buffer.from(passphrase.reveal()) } : {}),
  });

async function readPassphrase(file: string, alsoReadableBy: 'nobody' | 'group'): Promise<Secret | null> {
  const read = await readPrivately(file, alsoReadableBy);
  if (read.kind === 'absent') return null;
  if (read.kind === 'refused') throw unusable(read.reason);
  // Editors end files with a line end; it is no part of what somebody typed.
  const text = read.bytes.toString('utf8').replace(/\r?\n$/, '');
  if (text === '') throw unusable(`${file} is empty, and should hold the passphrase of the keys`);
  return new Secret(text);
}

const unusable = (reason: string): ColdironError => new ColdironError('authority_unavailable', reason);
