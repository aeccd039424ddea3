// Keys, quotes, credentials and certificates of one swtpm 0.7.1, as tpm2-tools 5.4 wrote them. The credentials were made
// with random bytes of 0x11 for the ECDSA attestation key and the secret of 0x5e bytes, and this TPM opened them.

import { readFileSync } from 'node:fs';
import { checkAk, checkEk } from '../../../appliance/codecs/tpm/tpm-keys.ts';
import { parseTpmPublic, type TpmPublic } from '../../../appliance/codecs/tpm/tpm-public.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';

export const EK_KINDS = ['rsa', 'ecc', 'rsa3072', 'ecc384'] as const;
export const SCHEMES = ['ecdsa', 'rsassa', 'rsapss'] as const;
export type EkKind = (typeof EK_KINDS)[number];
export type Scheme = (typeof SCHEMES)[number];

interface Captured {
  readonly eks: Readonly<Record<EkKind, string>>;
  readonly aks: Readonly<Record<Scheme, string>>;
  readonly nonce: string;
  readonly quotes: Readonly<
    Record<Scheme, { readonly message: string; readonly signature: string; readonly pcrs: Record<string, string> }>
  >;
  readonly credentials: Readonly<Record<EkKind, { readonly idObject: string; readonly encryptedSecret: string }>>;
  readonly certificates: Readonly<Record<'rsa' | 'ecc384', string>>;
  readonly root: string;
  readonly intermediate: string;
}

export const captured: Captured = JSON.parse(
  readFileSync(new URL('../../captures/tpm/swtpm.json', import.meta.url), 'utf8'),
);

export const bytesOf = (base64: string): Buffer => Buffer.from(base64, 'base64');
export const publicOf = (base64: string): TpmPublic => mustParse(parseTpmPublic(bytesOf(base64)));
export const ekOf = (kind: EkKind) => mustParse(checkEk(publicOf(captured.eks[kind])));
export const akOf = (scheme: Scheme) => mustParse(checkAk(publicOf(captured.aks[scheme])));

/** The quote as the service OS sends it. */
export const quoteOf = (scheme: Scheme) => {
  const { message, signature, pcrs } = captured.quotes[scheme];
  return { message: bytesOf(message), signature: bytesOf(signature), pcrs };
};
export const NONCE = Buffer.from(captured.nonce, 'hex');

/** With these bytes at an offset. */
export function patched(bytes: Uint8Array, at: number, ...values: readonly number[]): Buffer {
  const copy = Buffer.from(bytes);
  copy.set(values, at);
  return copy;
}
