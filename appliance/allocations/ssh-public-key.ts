// A public key line with its id, its comment, and the fingerprint that people compare.

import { createHash } from 'node:crypto';
import type { SshKeyId } from '../domain/access-object.ts';
import { type Parsed, parsed } from '../domain/parsed.ts';
import { parseSshKeyLine } from '../domain/ssh-key.ts';

export interface SshPublicKey {
  readonly line: string;
  readonly id: SshKeyId;
  /** As `ssh-keygen -l` prints it: what people compare. */
  readonly fingerprint: string;
  readonly comment: string;
}

export function parseSshPublicKey(text: string): Parsed<SshPublicKey> {
  const key = parseSshKeyLine(text);
  if (!key.ok) return key;
  const { line, blob } = key.value;
  const digest = createHash('sha256').update(blob).digest();
  return parsed({
    line,
    id: digest.toString('hex').slice(0, 32) as SshKeyId,
    fingerprint: fingerprintText(digest),
    comment: line.split(/ +/).slice(2).join(' '),
  });
}

/** The fingerprint of a key as it is on the wire. */
export const fingerprintOf = (blob: Uint8Array): string => fingerprintText(createHash('sha256').update(blob).digest());

const fingerprintText = (digest: Buffer): string => `SHA256:${digest.toString('base64').replace(/=+$/, '')}`;
