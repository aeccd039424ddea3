// RFC 5280 §4.2.1.6: subject alternative names. Only the three kinds that we issue.

import { type Ipv4, ipv4FromBytes, ipv4ToNumber } from '../../domain/ipv4.ts';
import { contextTag, element } from './der.ts';
import { type DerElement, DerError } from './der-reader.ts';

export type GeneralName =
  | { readonly kind: 'dns'; readonly name: string }
  | { readonly kind: 'uri'; readonly uri: string }
  | { readonly kind: 'ip'; readonly address: Ipv4 };

const DNS = contextTag(2, false);
const URI = contextTag(6, false);
const IP = contextTag(7, false);

export function encodeGeneralName(name: GeneralName): Uint8Array {
  switch (name.kind) {
    case 'dns':
      return element(DNS, new TextEncoder().encode(name.name));
    case 'uri':
      return element(URI, new TextEncoder().encode(name.uri));
    case 'ip':
      return element(IP, addressBytes(name.address));
  }
}

export function decodeGeneralName({ tag, content }: DerElement): GeneralName {
  switch (tag) {
    case DNS:
      return { kind: 'dns', name: asciiText(content) };
    case URI:
      return { kind: 'uri', uri: asciiText(content) };
    case IP: {
      const address = ipv4FromBytes(content);
      if (!address.ok) throw new DerError('subjectAltName', address.reason);
      return { kind: 'ip', address: address.value };
    }
    default:
      throw new DerError('subjectAltName', `has a name of an unsupported kind (tag 0x${tag.toString(16)})`);
  }
}

/** In OpenSSL's notation: `DNS:node01`. */
export function generalNameText(name: GeneralName): string {
  switch (name.kind) {
    case 'dns':
      return `DNS:${name.name}`;
    case 'uri':
      return `URI:${name.uri}`;
    case 'ip':
      return `IP:${name.address}`;
  }
}

/** IA5String: nothing above 0x7f, and no NUL, at which other software would truncate the name. */
function asciiText(bytes: Uint8Array): string {
  if (bytes.some((byte) => byte < 0x20 || byte > 0x7e)) {
    throw new DerError('subjectAltName', 'has a character that is not printable ASCII');
  }
  return new TextDecoder().decode(bytes);
}

function addressBytes(address: Ipv4): Uint8Array {
  const number = ipv4ToNumber(address);
  return Uint8Array.of(number >>> 24, (number >>> 16) & 0xff, (number >>> 8) & 0xff, number & 0xff);
}
