// RFC 2986 §4: decodes a certification request (PKCS #10). It is untrusted input: any deviation is rejected.
//
//   CertificationRequestInfo ::= SEQUENCE { version 0, subject Name, subjectPKInfo, attributes [0] }

import { type Parsed, parsed, shown, unparsable } from '../../domain/parsed.ts';
import { contextTag, TAG } from './der.ts';
import { type DerElement, DerError, membersOf, readObjectIdentifier, readOnly, readWholeBytes } from './der-reader.ts';
import { decodeGeneralName, type GeneralName } from './general-name.ts';
import { OID } from './object-identifiers.ts';

export interface CertificationRequest {
  /** What the signature of the requester covers. */
  readonly signedPart: Uint8Array;
  readonly signatureAlgorithm: string;
  readonly signature: Uint8Array;
  readonly publicKeyInfo: Uint8Array;
  /** Every common name in the subject; its other attributes are ignored. */
  readonly commonNames: readonly string[];
  readonly alternativeNames: readonly GeneralName[];
  readonly asksToBeAuthority: boolean;
}

export function decodeCertificationRequest(der: Uint8Array): Parsed<CertificationRequest> {
  try {
    return parsed(readRequest(der));
  } catch (error) {
    if (error instanceof DerError) return unparsable(`not a certification request: ${error.message}`);
    throw error;
  }
}

function readRequest(der: Uint8Array): CertificationRequest {
  const members = membersOf(readOnly(der, TAG.sequence, 'request'), 'request');
  const info = members.next(TAG.sequence, 'certificationRequestInfo');
  const algorithm = members.next(TAG.sequence, 'signatureAlgorithm');
  const signature = readWholeBytes(members.next(TAG.bitString, 'signature'), 'signature');
  members.end();

  const parts = membersOf(info, 'certificationRequestInfo');
  const version = parts.next(TAG.integer, 'version').content;
  if (version.length !== 1 || version[0] !== 0) throw new DerError('version', 'is not 0');
  const subject = parts.next(TAG.sequence, 'subject');
  const publicKeyInfo = parts.next(TAG.sequence, 'subjectPKInfo').whole;
  const extensions = requestedExtensions(parts.next(contextTag(0, true), 'attributes'));
  parts.end();
  return {
    signedPart: info.whole,
    signatureAlgorithm: readObjectIdentifier(membersOf(algorithm, 'signatureAlgorithm').any('algorithm'), 'algorithm'),
    signature,
    publicKeyInfo,
    commonNames: commonNamesIn(subject),
    alternativeNames: alternativeNamesIn(extensions),
    asksToBeAuthority: extensions.some(({ type, value }) => type === OID.basicConstraints && requestsAuthority(value)),
  };
}

function commonNamesIn(subject: DerElement): string[] {
  return eachMember(subject, TAG.set, 'subject').flatMap((relativeName) =>
    eachMember(relativeName, TAG.sequence, 'subject').flatMap((attribute) => {
      const members = membersOf(attribute, 'subject');
      const type = readObjectIdentifier(members.any('subject'), 'subject');
      const value = members.any('subject');
      members.end();
      return type === OID.commonName ? [nameText(value)] : [];
    }),
  );
}

/** PrintableString, UTF8String and IA5String encode an ASCII name identically. */
function nameText({ tag, content }: DerElement): string {
  const text = new TextDecoder().decode(content);
  if (![0x13, TAG.utf8String, 0x16].includes(tag) || /[^\x20-\x7e]/.test(text)) {
    throw new DerError('commonName', `is not printable ASCII: ${shown(text)}`);
  }
  return text;
}

interface RequestedExtension {
  readonly type: string;
  readonly value: Uint8Array;
}

function requestedExtensions(attributes: DerElement): RequestedExtension[] {
  return eachMember(attributes, TAG.sequence, 'attributes').flatMap((attribute) => {
    const members = membersOf(attribute, 'attribute');
    const type = readObjectIdentifier(members.any('attribute'), 'attribute');
    const values = members.next(TAG.set, 'attribute');
    members.end();
    if (type !== OID.extensionRequest) return [];
    return eachMember(values, TAG.sequence, 'extensionRequest').flatMap((list) =>
      eachMember(list, TAG.sequence, 'extension').map(readExtension),
    );
  });
}

function readExtension(extension: DerElement): RequestedExtension {
  const members = membersOf(extension, 'extension');
  const type = readObjectIdentifier(members.any('extension'), 'extension');
  let value = members.any('extension');
  if (value.tag === TAG.boolean) value = members.any('extension');
  members.end();
  if (value.tag !== TAG.octetString) throw new DerError('extension', 'has no value');
  return { type, value: value.content };
}

const alternativeNamesIn = (extensions: readonly RequestedExtension[]): GeneralName[] =>
  extensions
    .filter(({ type }) => type === OID.subjectAlternativeName)
    .flatMap(({ value }) => {
      const names = membersOf(readOnly(value, TAG.sequence, 'subjectAltName'), 'subjectAltName');
      const found: GeneralName[] = [];
      while (!names.isAtEnd) found.push(decodeGeneralName(names.any('subjectAltName')));
      return found;
    });

function requestsAuthority(value: Uint8Array): boolean {
  const members = membersOf(readOnly(value, TAG.sequence, 'basicConstraints'), 'basicConstraints');
  if (members.isAtEnd) return false;
  const first = members.any('basicConstraints');
  return first.tag === TAG.boolean && first.content[0] !== 0;
}

function eachMember(element: DerElement, tag: number, field: string): DerElement[] {
  const members = membersOf(element, field);
  const found: DerElement[] = [];
  while (!members.isAtEnd) found.push(members.next(tag, field));
  return found;
}
