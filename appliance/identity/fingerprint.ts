import { createHash } from 'node:crypto';
import type { Fingerprint } from '../store/enrollment-store.ts';

export const fingerprintOf = (der: Uint8Array): Fingerprint =>
  createHash('sha256').update(der).digest('hex') as Fingerprint;

/** As `openssl x509 -fingerprint -sha256` shows it. */
export const shownFingerprint = (fingerprint: Fingerprint): string =>
  (fingerprint.toUpperCase().match(/../g) ?? []).join(':');
