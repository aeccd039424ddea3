// Who vouches for an endorsement key: its certificate must lead to a root of the list that the site gives, without a network.
//
// This is not the path validation of RFC 5280 §6. Makers sign EK certificates whose dates have long passed, and mark
// extensions critical that only the TCG defines. The key lives as long as its TPM: dates are said and not enforced,
// extensions are ignored. Signatures, the right to issue and the path length are checked.

import { X509Certificate } from 'node:crypto';
import type { Instant } from '../../domain/instant.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { plainLine } from '../../domain/plain-line.ts';
import { readPathLength } from '../x509/certificate.ts';
import { pemText, readPemBlocks } from '../x509/pem.ts';
import type { EkCertificate } from './ek-certificate.ts';

interface VendorAuthority {
  readonly certificate: X509Certificate;
  readonly pathLength: number | null;
  readonly isRoot: boolean;
}

/** Roots and intermediates. */
export type VendorAuthorities = readonly VendorAuthority[];

export interface VendorChain {
  /** The authority that signed the EK certificate, and the root above it. */
  readonly issuer: string;
  readonly root: string;
  /** What is odd about the dates, for people. */
  readonly remarks: readonly string[];
}

/** Certificates in PEM, any number in a file. Intermediates count only below a root that is also in a file. */
export function readVendorAuthorities(
  files: readonly { readonly name: string; readonly text: string }[],
): Parsed<VendorAuthorities> {
  const found: VendorAuthority[] = [];
  for (const { name, text } of files) {
    const blocks = readPemBlocks(text, 'CERTIFICATE');
    if (!blocks.ok) return unparsable(`${name}: ${blocks.reason}`);
    for (const der of blocks.value) {
      const authority = readAuthority(der);
      if (!authority.ok) return unparsable(`${name}: ${authority.reason}`);
      found.push(authority.value);
    }
  }
  return parsed(found);
}

export function vendorChain(
  { certificate }: EkCertificate,
  authorities: VendorAuthorities,
  now: Instant,
): Parsed<VendorChain> {
  const path = pathFrom(certificate, authorities, []);
  const [issuer, root] = [path?.at(0), path?.at(-1)];
  if (!path || !issuer || !root) return unparsable(reasonWithout(certificate, authorities));
  const remarks = [
    ...dateRemarks('the EK certificate', certificate, now),
    ...path.flatMap((authority) =>
      dateRemarks(`the authority ${nameOf(authority.certificate)}`, authority.certificate, now),
    ),
  ];
  return parsed({ issuer: nameOf(issuer.certificate), root: nameOf(root.certificate), remarks });
}

function readAuthority(der: Uint8Array): Parsed<VendorAuthority> {
  try {
    const certificate = new X509Certificate(pemText('CERTIFICATE', der));
    const pathLength = readPathLength(der);
    if (!certificate.ca) return unparsable(`${nameOf(certificate)} is not the certificate of an authority`);
    return parsed({ certificate, pathLength, isRoot: isIssuedBy(certificate, certificate) });
  } catch {
    return unparsable('has a certificate that cannot be read');
  }
}

/** From the issuer up to a root; null: there is no such path. Two authorities may have the same name. */
function pathFrom(
  subject: X509Certificate,
  authorities: VendorAuthorities,
  below: readonly VendorAuthority[],
): readonly VendorAuthority[] | null {
  for (const authority of authorities) {
    if (below.includes(authority) || !isIssuedBy(subject, authority.certificate)) continue;
    if (authority.pathLength !== null && below.length > authority.pathLength) continue;
    const path = [...below, authority];
    if (authority.isRoot) return path;
    const whole = pathFrom(authority.certificate, authorities, path);
    if (whole !== null) return whole;
  }
  return null;
}

/** By name and key identifier, then by signature. */
function isIssuedBy(subject: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return subject.checkIssued(issuer) && subject.verify(issuer.publicKey);
  } catch {
    // The issuer's key is of a kind that OpenSSL does not read.
    return false;
  }
}

function reasonWithout(certificate: X509Certificate, authorities: VendorAuthorities): string {
  const issuer = oneLine(certificate.issuer);
  const signer = authorities.find((authority) => isIssuedBy(certificate, authority.certificate));
  if (signer) return `the EK certificate is issued by ${issuer}, which leads to no root of the vendor authorities`;
  const isNamed = authorities.some((authority) => oneLine(authority.certificate.subject) === issuer);
  return isNamed
    ? `the EK certificate names ${issuer} as its issuer, but is not signed by it`
    : `the EK certificate is issued by ${issuer}, which is not one of the vendor authorities`;
}

function dateRemarks(what: string, { validFrom, validTo }: X509Certificate, now: Instant): string[] {
  const [from, to] = [Date.parse(validFrom), Date.parse(validTo)];
  if (Number.isNaN(from) || Number.isNaN(to)) return [`${what} has dates that cannot be read`];
  if (now < from) return [`${what} is not valid before ${dayOf(from)}`];
  return now > to ? [`${what} expired on ${dayOf(to)}`] : [];
}

const dayOf = (at: Instant): string => new Date(at).toISOString().slice(0, 10);

const nameOf = ({ subject }: X509Certificate): string => oneLine(subject);

const MAX_NAME = 200;
/** `CN=…, O=…`; an EK certificate may have no subject. Comes from a machine: bounded and printable. */
const oneLine = (name: string | undefined): string => plainLine((name ?? '').replaceAll('\n', ', ').slice(0, MAX_NAME));
