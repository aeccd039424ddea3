// Ethernet addresses. Several notations are accepted; one is used inside (52:54:00:12:34:56).

import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

export type Mac = Branded<string, 'Mac'>;

const SPELLINGS = [
  /^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/, // 52:54:00:12:34:56
  /^[0-9a-f]{2}(-[0-9a-f]{2}){5}$/, // 52-54-00-12-34-56, iPXE's ${mac:hexhyp}
  /^[0-9a-f]{4}(\.[0-9a-f]{4}){2}$/, // 5254.0012.3456, switches
  /^[0-9a-f]{12}$/, // 525400123456, labels and bar codes
];

/** A unicast address in the canonical notation: a fast path, because most input is canonical. */
const CANONICAL = /^(?!00(?::00){5}$)[0-9a-f][02468ace](?::[0-9a-f]{2}){5}$/;

export function parseMac(text: string): Parsed<Mac> {
  if (CANONICAL.test(text)) return parsed(text as Mac);
  const lower = text.trim().toLowerCase();
  if (!SPELLINGS.some((spelling) => spelling.test(lower))) return unparsable(`not a MAC address: ${shown(text)}`);
  return fromDigits(lower.replace(/[^0-9a-f]/g, ''));
}

/** The first six bytes of a BOOTP chaddr with htype 1, hlen 6. */
export function macFromBytes(bytes: Uint8Array): Parsed<Mac> {
  if (bytes.length !== 6) return unparsable(`a MAC address has 6 bytes, this has ${bytes.length}`);
  // Called for every DHCP packet: a valid address is formatted without further checks.
  const a = bytes[0] ?? 0;
  const b = bytes[1] ?? 0;
  const c = bytes[2] ?? 0;
  const d = bytes[3] ?? 0;
  const e = bytes[4] ?? 0;
  const f = bytes[5] ?? 0;
  const spelled = `${HEX_PAIRS[a]}:${HEX_PAIRS[b]}:${HEX_PAIRS[c]}:${HEX_PAIRS[d]}:${HEX_PAIRS[e]}:${HEX_PAIRS[f]}`;
  const isUnicast = (a & 1) === 0 && (a | b | c | d | e | f) !== 0;
  return isUnicast ? parsed(spelled as Mac) : fromDigits(spelled.replaceAll(':', ''));
}

const HEX_PAIRS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function fromDigits(digits: string): Parsed<Mac> {
  if (digits === '000000000000') return unparsable('the all-zero MAC address belongs to no machine');
  if (Number.parseInt(digits.slice(1, 2), 16) & 1) {
    return unparsable(`a multicast MAC address belongs to no single machine: ${digits.match(/../g)?.join(':')}`);
  }
  return parsed((digits.match(/../g) ?? []).join(':') as Mac);
}

/** 52-54-00-12-34-56: the form in script URLs, where a colon would be escaped. */
export const macWithHyphens = (mac: Mac): string => mac.replaceAll(':', '-');
