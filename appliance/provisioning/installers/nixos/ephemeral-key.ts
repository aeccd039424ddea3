// A key pair for one deployment, in OpenSSH's format (PROTOCOL.key in its sources).

import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { ColdironError } from '../../../domain/errors.ts';
import { Secret } from '../../../domain/secret.ts';

export interface EphemeralKey {
  /** `ssh-ed25519 AAAA… coldiron-node05`, as in authorized_keys. */
  readonly authorizedKey: string;
  readonly privateKey: Secret;
}

const TYPE = 'ssh-ed25519';
/** The cipher's block size for a key that is not encrypted. */
const BLOCK = 8;
const LINE = 70;

export function makeEphemeralKey(comment: string): EphemeralKey {
  const { privateKey } = generateKeyPairSync('ed25519');
  const { x, d } = privateKey.export({ format: 'jwk' });
  if (x === undefined || d === undefined)
    throw new ColdironError('internal', 'the generated key lacks a public or private half');
  const point = Buffer.from(x, 'base64url');
  const seed = Buffer.from(d, 'base64url');
  const blob = Buffer.concat([string(TYPE), string(point)]);
  return {
    authorizedKey: `${TYPE} ${blob.toString('base64')} ${comment}`,
    privateKey: new Secret(
      pem(blob, Buffer.concat([string(TYPE), string(point), string(Buffer.concat([seed, point]))]), comment),
    ),
  };
}

//   "openssh-key-v1\0" | cipher "none" | kdf "none" | kdf options "" | number of keys 1 | public blob
//   | private part: check | check | type, point, seed and point | comment | 1 2 3 … up to a whole block
function pem(publicBlob: Buffer, privateBlob: Buffer, comment: string): string {
  const check = randomBytes(4);
  const open = Buffer.concat([check, check, privateBlob, string(comment)]);
  const padding = Buffer.from(Array.from({ length: (BLOCK - (open.length % BLOCK)) % BLOCK }, (_, at) => at + 1));
  const bytes = Buffer.concat([
    Buffer.from('openssh-key-v1\0', 'latin1'),
    string('none'),
    string('none'),
    string(''),
    uint32(1),
    string(publicBlob),
    string(Buffer.concat([open, padding])),
  ]);
  const lines = bytes.toString('base64').match(new RegExp(`.{1,${LINE}}`, 'g')) ?? [];
  return ['-----BEGIN OPENSSH PRIVATE KEY-----', ...lines, '-----END OPENSSH PRIVATE KEY-----', ''].join('\n');
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const string = (value: string | Buffer): Buffer => {
  const bytes = Buffer.from(value);
  return Buffer.concat([uint32(bytes.length), bytes]);
};
