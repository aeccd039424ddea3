// Tickets and session keys: generated here; the store has only their hashes.

import { createHash, randomBytes } from 'node:crypto';
import { mustParse } from '../../domain/parsed.ts';
import { parseSessionSecret, type SessionSecret } from '../../domain/session.ts';

const BYTES = 32;

export function newSessionSecret(): { readonly text: SessionSecret; readonly hash: string } {
  const text = mustParse(parseSessionSecret(randomBytes(BYTES).toString('base64url')));
  return { text, hash: hashOfSecret(text) };
}

export const hashOfSecret = (secret: SessionSecret): string => sha256(secret);

/** The nonce of an opener. */
export const hashOfNonce = (nonce: string): string => sha256(nonce);

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
