// TPM 2.0 Library Part 2 §10.12 (TPMS_ATTEST) and §11.3 (TPMT_SIGNATURE): what a TPM says about its PCRs, and proof that
// it said so. TCG PC Client Platform Firmware Profile: PCR 0 to 7 are the firmware, its settings and Secure Boot.

import { constants, createHash, timingSafeEqual, verify } from 'node:crypto';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { ALG, COORDINATE_BYTES, hashOf } from './algorithms.ts';
import { hexWord, leftPadded, TpmFormatError, TpmReader } from './tpm-bytes.ts';
import type { AttestationKey } from './tpm-keys.ts';

export interface QuoteToVerify {
  readonly ak: AttestationKey;
  /** TPMS_ATTEST, without a size in front. */
  readonly message: Uint8Array;
  /** TPMT_SIGNATURE. */
  readonly signature: Uint8Array;
  /** The qualifying data that was asked for. */
  readonly nonce: Uint8Array;
  /** The SHA-256 bank, `0` to `7`, in hexadecimal digits. */
  readonly pcrs: Readonly<Record<string, string>>;
}

export interface VerifiedQuote {
  readonly pcrDigest: Buffer;
  /** Of the TPM: 16 hexadecimal digits. */
  readonly firmwareVersion: string;
  /** Resets of the TPM: cold starts of the machine. */
  readonly resetCount: number;
  readonly restartCount: number;
  /** Milliseconds that the TPM has had power. */
  readonly clock: bigint;
}

/** Part 2 §6.2: a restricted key signs no other data that starts with this. */
const TPM_GENERATED = 0xff544347;
const ATTEST_QUOTE = 0x8018;
const PCR_COUNT = 8;
/** More than any hash algorithm and name. */
const MAX_NAME = 66;
const MAX_DATA = 66;
const MAX_SIGNATURE = 512;

/** The quote is authentic, fresh, and about exactly these values. */
export function verifyQuote({ ak, message, signature, nonce, pcrs }: QuoteToVerify): Parsed<VerifiedQuote> {
  try {
    if (!isSignedBy(ak, message, signature)) return unparsable('the quote is not signed by the attestation key');
    const { extraData, ...quote } = readQuote(message);
    if (!isSame(extraData, nonce)) return unparsable('the quote answers another request: its qualifying data differs');
    const given = createHash(ak.scheme.hash).update(pcrBytes(pcrs)).digest();
    if (!isSame(given, quote.pcrDigest)) return unparsable('the quote is about other PCR values');
    return parsed(quote);
  } catch (error) {
    if (error instanceof TpmFormatError) return unparsable(`not a quote: ${error.message}`);
    throw error;
  }
}

function readQuote(message: Uint8Array): VerifiedQuote & { readonly extraData: Buffer } {
  const reader = new TpmReader(message);
  if (reader.uint32('magic') !== TPM_GENERATED) throw new TpmFormatError('magic', 'it was not made by a TPM');
  const type = reader.uint16('type');
  if (type !== ATTEST_QUOTE) throw new TpmFormatError('type', `${hexWord(type)} is another statement of the TPM`);
  reader.sized(MAX_NAME, 'qualifiedSigner');
  const extraData = reader.sized(MAX_DATA, 'extraData');
  const clock = reader.uint64('clock');
  const resetCount = reader.uint32('resetCount');
  const restartCount = reader.uint32('restartCount');
  reader.uint8('safe');
  const firmwareVersion = reader.bytes(8, 'firmwareVersion').toString('hex');
  readSelection(reader);
  const pcrDigest = reader.sized(MAX_DATA, 'pcrDigest');
  reader.end();
  return { extraData, clock, resetCount, restartCount, firmwareVersion, pcrDigest };
}

/** Part 2 §10.6.2: a bit per PCR, in at least three bytes on a PC. */
function readSelection(reader: TpmReader): void {
  const banks = reader.uint32('pcrSelect');
  if (banks !== 1) throw new TpmFormatError('pcrSelect', `it is about ${banks} banks, not one`);
  if (hashOf(reader.uint16('pcrSelect.hash'), 'pcrSelect.hash') !== 'sha256') {
    throw new TpmFormatError('pcrSelect.hash', 'it is not about the SHA-256 bank');
  }
  const [first, ...others] = reader.bytes(reader.uint8('sizeofSelect'), 'pcrSelect');
  if (first !== 0xff || others.some((byte) => byte !== 0)) {
    throw new TpmFormatError('pcrSelect', 'it is not about exactly PCR 0 to 7');
  }
}

function pcrBytes(pcrs: Readonly<Record<string, string>>): Buffer {
  const numbers = Array.from({ length: PCR_COUNT }, (_, number) => String(number));
  const other = Object.keys(pcrs).find((number) => !numbers.includes(number));
  if (other !== undefined) throw new TpmFormatError('pcrs', 'a value other than 0 to 7 is given');
  return Buffer.concat(
    numbers.map((number) => {
      const value = Object.hasOwn(pcrs, number) ? pcrs[number] : undefined;
      if (typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value)) return Buffer.from(value, 'hex');
      throw new TpmFormatError(`PCR ${number}`, 'is not 64 hexadecimal digits');
    }),
  );
}

function isSignedBy({ public: area, scheme }: AttestationKey, message: Uint8Array, signature: Uint8Array): boolean {
  const reader = new TpmReader(signature);
  const algorithm = reader.uint16('signature.sigAlg');
  const hash = hashOf(reader.uint16('signature.hash'), 'signature.hash');
  if (algorithm !== ALG[scheme.algorithm] || hash !== scheme.hash) {
    throw new TpmFormatError('signature', `is not ${scheme.algorithm} with ${scheme.hash} as the attestation key has`);
  }
  const key = area.key;
  if (area.type === 'ecc') {
    const size = COORDINATE_BYTES[area.curve];
    const numbers = ['signature.r', 'signature.s'].map((field) => leftPadded(reader.sized(size, field), size, field));
    reader.end();
    return verify(hash, message, { key, dsaEncoding: 'ieee-p1363' }, Buffer.concat(numbers));
  }
  const bytes = reader.sized(MAX_SIGNATURE, 'signature.sig');
  reader.end();
  const { RSA_PKCS1_PADDING, RSA_PKCS1_PSS_PADDING, RSA_PSS_SALTLEN_AUTO } = constants;
  // TPMs use a salt as long as the digest, or as long as fits (Part 1 annex B).
  return scheme.algorithm === 'rsapss'
    ? verify(hash, message, { key, padding: RSA_PKCS1_PSS_PADDING, saltLength: RSA_PSS_SALTLEN_AUTO }, bytes)
    : verify(hash, message, { key, padding: RSA_PKCS1_PADDING }, bytes);
}

const isSame = (a: Uint8Array, b: Uint8Array): boolean => a.length === b.length && timingSafeEqual(a, b);
