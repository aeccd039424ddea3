// Checks a node's certification request (CSR): it proves possession of the key and may name only the node itself. Everything
// else in the certificate is decided by the appliance.

import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { type CertificationRequest, decodeCertificationRequest } from '../codecs/x509/certification-request.ts';
import { generalNameText } from '../codecs/x509/general-name.ts';
import { OID } from '../codecs/x509/object-identifiers.ts';
import { readPemBlock } from '../codecs/x509/pem.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import { identityNames, type NodeIdentity } from './node-identity.ts';

export interface AcceptedRequest {
  readonly publicKeyInfo: Uint8Array;
  readonly keyKind: KeyKind;
}

type KeyKind = 'ed25519' | 'ec' | 'rsa';

/** More than twice a request with an 8192-bit RSA key and all names of a node. */
const MAX_REQUEST_LENGTH = 16 * 1024;
const RSA_BITS = { least: 2048, most: 8192 };
const CURVES = ['prime256v1', 'secp384r1'];

/** The digest and key kind of each accepted algorithm. All others (SHA-1 above all) are refused. */
const ALGORITHMS: Readonly<Record<string, { readonly key: KeyKind; readonly digest: string | null }>> = {
  [OID.ed25519]: { key: 'ed25519', digest: null },
  [OID.ecdsaWithSha256]: { key: 'ec', digest: 'sha256' },
  [OID.ecdsaWithSha384]: { key: 'ec', digest: 'sha384' },
  [OID.ecdsaWithSha512]: { key: 'ec', digest: 'sha512' },
  [OID.rsaWithSha256]: { key: 'rsa', digest: 'sha256' },
  [OID.rsaWithSha384]: { key: 'rsa', digest: 'sha384' },
  [OID.rsaWithSha512]: { key: 'rsa', digest: 'sha512' },
};

export function acceptRequest(pem: string, identity: NodeIdentity): Parsed<AcceptedRequest> {
  if (pem.length > MAX_REQUEST_LENGTH) return unparsable(`a request has at most ${MAX_REQUEST_LENGTH} characters`);
  const der = readPemBlock(pem, 'CERTIFICATE REQUEST');
  if (!der.ok) return der;
  const decoded = decodeCertificationRequest(der.value);
  if (!decoded.ok) return decoded;
  const key = acceptableKey(decoded.value.publicKeyInfo);
  if (!key.ok) return key;
  const problem = signatureProblem(decoded.value, key.value) ?? nameProblem(decoded.value, identity);
  if (problem !== null) return unparsable(problem);
  return parsed({ publicKeyInfo: decoded.value.publicKeyInfo, keyKind: kindOf(key.value) });
}

function acceptableKey(publicKeyInfo: Uint8Array): Parsed<KeyObject> {
  const key = readKey(publicKeyInfo);
  if (key === null) return unparsable('its public key cannot be read');
  const { namedCurve, modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {};
  switch (key.asymmetricKeyType) {
    case 'ed25519':
      return parsed(key);
    case 'ec':
      if (CURVES.includes(namedCurve ?? '')) return parsed(key);
      return unparsable(`its key is on the curve ${shown(namedCurve ?? 'without a name')}, not P-256 or P-384`);
    case 'rsa':
      if (modulusLength < RSA_BITS.least || modulusLength > RSA_BITS.most) {
        return unparsable(`its RSA key has ${modulusLength} bits, not ${RSA_BITS.least} to ${RSA_BITS.most}`);
      }
      // NIST SP 800-56B §6.2: odd, above 2^16, below 2^256.
      if (publicExponent > 0x1_0000n && publicExponent % 2n === 1n && publicExponent < 1n << 256n) return parsed(key);
      return unparsable('its RSA key has an unsafe public exponent');
    default:
      return unparsable(`its key is of the kind ${shown(key.asymmetricKeyType)}, not Ed25519, ECDSA or RSA`);
  }
}

function readKey(publicKeyInfo: Uint8Array): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(publicKeyInfo), format: 'der', type: 'spki' });
  } catch {
    return null;
  }
}

/** Proof of possession: the request must be signed with the private key. */
function signatureProblem(request: CertificationRequest, key: KeyObject): string | null {
  const algorithm = ALGORITHMS[request.signatureAlgorithm];
  if (!algorithm) return `its signature algorithm ${shown(request.signatureAlgorithm)} is not accepted`;
  if (algorithm.key !== kindOf(key)) return 'its signature algorithm does not match its key';
  return isSignedBy(request, key, algorithm.digest) ? null : 'its signature does not verify with its public key';
}

function isSignedBy(request: CertificationRequest, key: KeyObject, digest: string | null): boolean {
  try {
    return verify(digest, request.signedPart, key, request.signature);
  } catch {
    return false;
  }
}

function nameProblem(request: CertificationRequest, identity: NodeIdentity): string | null {
  const own = identityNames(identity).map(generalNameText);
  const commonNames: readonly string[] = [identity.id, identity.hostname, identity.fqdn];
  const strange = [
    ...request.commonNames.filter((name) => !commonNames.includes(name)).map((name) => `CN=${name}`),
    ...request.alternativeNames.map(generalNameText).filter((name) => !own.includes(name)),
  ];
  if (strange[0] !== undefined) return `it names a host other than ${identity.hostname}: ${shown(strange[0])}`;
  return request.asksToBeAuthority ? 'it requests a CA certificate' : null;
}

/** Only for keys that `acceptableKey` accepted. */
function kindOf(key: KeyObject): KeyKind {
  const kind = key.asymmetricKeyType;
  return kind === 'ed25519' || kind === 'rsa' ? kind : 'ec';
}
