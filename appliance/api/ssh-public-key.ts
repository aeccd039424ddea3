// A public key line with the fingerprint that people compare.

import { createHash } from 'node:crypto';
import { type Parsed, parsed } from '../domain/parsed.ts';
import { parseSshKeyLine } from '../domain/ssh-key.ts';

export interface SshPublicKey {
  readonly line: string;
  /** As `ssh-keygen -l` prints it: what people compare. */
  readonly fingerprint: string;
}

export function parseSshPublicKey(text: string): Parsed<SshPublicKey> {
  const key = parseSshKeyLine(text);
  if (!key.ok) return key;
  const digest = createHash('sha256').update(key.value.blob).digest('base64').replace(/=+$/, '');
  return parsed({ line: key.value.line, fingerprint: `SHA256:${digest}` });
}
