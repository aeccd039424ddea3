// Private keys, each in a file that only the appliance's user can read, encrypted if a passphrase is configured.

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { ColdironError } from '../domain/errors.ts';
import { Secret } from '../domain/secret.ts';
import { makePrivateFolder } from '../files/private-folder.ts';
import { readPrivately, replacePrivately, writeOnce } from './vault/private-file.ts';

export interface KeyFolder {
  /** On disk when this resolves. An existing file is not changed. */
  write(id: string, key: KeyObject): Promise<void>;
  /** Cached, because decryption is slow. `authority_unavailable` if it is missing, accessible to others, or unreadable. */
  read(id: string): Promise<KeyObject>;
  /** Writes a replaceable key and its certificate to one file. */
  save(name: string, key: KeyObject, certificatePem: string): Promise<void>;
  /** Null if there is no usable pair: the caller creates a new one. */
  load(name: string): Promise<{ readonly key: KeyObject; readonly certificate: X509Certificate } | null>;
}

const CREDENTIAL_NAME = 'coldiron-ca-passphrase';

/** From the service manager (systemd.exec(5), LoadCredential=), otherwise from the named file; null if there is neither. */
export async function loadPassphrase(
  file: string | null,
  credentialsFolder: string | undefined,
): Promise<Secret | null> {
  if (credentialsFolder) {
    // systemd grants the service's user access through an ACL, which appears as a group permission.
    const passphrase = await readPassphrase(join(credentialsFolder, CREDENTIAL_NAME), 'group');
    if (passphrase) return passphrase;
  }
  if (file === null) return null;
  const passphrase = await readPassphrase(file, 'nobody');
  if (!passphrase) throw unusable(`${file} does not exist: it must contain the passphrase of the keys`);
  return passphrase;
}

export async function openKeyFolder(folder: string, passphrase: Secret | null): Promise<KeyFolder> {
  const reason = await makePrivateFolder(folder);
  if (reason !== null) throw unusable(reason);
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
    save: (name, key, certificatePem) => replacePrivately(pairOf(name), keyText(key, passphrase) + certificatePem),
    load: async (name) => {
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
  if (read.kind === 'absent') throw unusable(`${file} is missing: restore it from a backup, or rotate`);
  if (read.kind === 'refused') throw unusable(read.reason);
  const isEncrypted = read.bytes.includes('-----BEGIN ENCRYPTED PRIVATE KEY-----');
  if (isEncrypted && !passphrase) throw unusable(`${file} is encrypted, but no passphrase is configured`);
  if (!isEncrypted && passphrase) {
    throw unusable(
      `${file} is not encrypted, but a passphrase is configured: run openssl pkcs8 -topk8 -v2 aes-256-cbc`,
    );
  }
  try {
    return privateKey(read.bytes, passphrase);
  } catch {
    throw unusable(isEncrypted ? `${file} cannot be decrypted with the passphrase` : `${file} contains no private key`);
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
  // Editors add a final line end; it is not part of the passphrase.
  const text = read.bytes.toString('utf8').replace(/\r?\n$/, '');
  if (text === '') throw unusable(`${file} is empty: it must contain the passphrase of the keys`);
  return new Secret(text);
}

const unusable = (reason: string): ColdironError => new ColdironError('authority_unavailable', reason);
