// Reads what the TPM of a machine sent when it opened a session. Nothing is proved yet: the reply is encrypted for these keys, so
// that only the TPM that has them can use the session.

import { isCertificateOf, readEkCertificate } from '../../codecs/tpm/ek-certificate.ts';
import { credentialFile, makeCredential, type Random } from '../../codecs/tpm/make-credential.ts';
import { verifyQuote } from '../../codecs/tpm/quote.ts';
import {
  type AttestationKey,
  checkAk,
  checkEk,
  type EndorsementKey,
  ekFingerprint,
} from '../../codecs/tpm/tpm-keys.ts';
import { parseTpmPublic } from '../../codecs/tpm/tpm-public.ts';
import { type VendorAuthorities, vendorChain } from '../../codecs/tpm/vendor-chain.ts';
import {
  type EkFingerprint,
  type PcrValues,
  parseEkFingerprint,
  type ShownTpm,
} from '../../domain/hardware-identity.ts';
import type { Instant } from '../../domain/instant.ts';
import { mustParse, type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import type { TpmBody } from './reports.ts';

export interface ProvenTpm {
  readonly shown: ShownTpm;
  /** The endorsement keys that a vendor has signed. */
  readonly signed: readonly EkFingerprint[];
  /** `seed`, encrypted for the TPM that has this key. */
  credential(ek: EkFingerprint, seed: Buffer): { readonly ek: string; readonly file: string };
}

interface ReadEk {
  readonly key: EndorsementKey;
  readonly fingerprint: EkFingerprint;
  readonly issuer: string | null;
}

export interface TpmReaderDeps {
  /** The authorities of TPM vendors that this site trusts. */
  readonly vendors: VendorAuthorities;
  readonly now: () => Instant;
  readonly random: Random;
}

export const tpmReader =
  (deps: TpmReaderDeps) =>
  (body: TpmBody, nonce: Buffer): Parsed<ProvenTpm> => {
    const eks = readEks(deps, body);
    if (!eks.ok) return eks;
    const ak = readAk(body);
    if (!ak.ok) return ak;
    const pcrs = readQuote(body, ak.value, nonce);
    if (!pcrs.ok) return pcrs;
    const issuer = eks.value.find((ek) => ek.issuer !== null)?.issuer ?? null;
    const shown = { eks: eks.value.map(({ fingerprint }) => fingerprint), issuer, pcrs: pcrs.value };
    const signed = eks.value.flatMap((ek) => (ek.issuer === null ? [] : [ek.fingerprint]));
    return parsed({
      ...{ shown, signed },
      credential: (ek, seed) => credentialFor(eks.value, ak.value, ek, seed, deps.random),
    });
  };

function readEks({ vendors, now }: TpmReaderDeps, { ek }: TpmBody): Parsed<readonly ReadEk[]> {
  const read: ReadEk[] = [];
  for (const [index, each] of ek.entries()) {
    const what = `endorsement key ${index + 1}`;
    const area = parseTpmPublic(Buffer.from(each.public, 'base64'));
    if (!area.ok) return unparsable(`${what}: ${area.reason}`);
    const key = checkEk(area.value);
    if (!key.ok) return unparsable(`${what}: ${key.reason}`);
    const fingerprint = mustParse(parseEkFingerprint(ekFingerprint(area.value)));
    read.push({ key: key.value, fingerprint, issuer: issuerOf(key.value, each.certificate ?? null, vendors, now()) });
  }
  return parsed(read);
}

/** A certificate that cannot be read, or that is for another key, vouches for nothing; it is no reason to refuse the TPM. */
function issuerOf(
  key: EndorsementKey,
  certificate: string | null,
  vendors: VendorAuthorities,
  now: Instant,
): string | null {
  if (certificate === null || vendors.length === 0) return null;
  const read = readEkCertificate(Buffer.from(certificate, 'base64'));
  if (!read.ok || !isCertificateOf(read.value, key.public)) return null;
  const chain = vendorChain(read.value, vendors, now);
  return chain.ok ? chain.value.issuer : null;
}

function readAk({ ak }: TpmBody): Parsed<AttestationKey> {
  const area = parseTpmPublic(Buffer.from(ak, 'base64'));
  if (!area.ok) return unparsable(`attestation key: ${area.reason}`);
  return checkAk(area.value);
}

function readQuote({ quote }: TpmBody, ak: AttestationKey, nonce: Buffer): Parsed<PcrValues | null> {
  if (!quote) return parsed(null);
  const message = Buffer.from(quote.message, 'base64');
  const signature = Buffer.from(quote.signature, 'base64');
  const verified = verifyQuote({ ak, message, signature, nonce, pcrs: quote.pcrs });
  return verified.ok ? parsed(quote.pcrs) : verified;
}

function credentialFor(
  eks: readonly ReadEk[],
  ak: AttestationKey,
  ek: EkFingerprint,
  secret: Buffer,
  random: Random,
): { readonly ek: string; readonly file: string } {
  const chosen = eks.find(({ fingerprint }) => fingerprint === ek);
  if (!chosen) throw new Error('the TPM has not shown this endorsement key');
  const credential = makeCredential({ ek: chosen.key, akName: ak.public.name, secret, random });
  return { ek: chosen.fingerprint, file: credentialFile(credential).toString('base64') };
}
