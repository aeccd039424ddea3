// RFC 7468: DER as text between BEGIN and END lines. Encodes and decodes strictly.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

export type PemLabel = 'CERTIFICATE' | 'CERTIFICATE REQUEST' | 'PUBLIC KEY';

const LINE_LENGTH = 64;

export function pemText(label: PemLabel, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

/** All blocks of the text: at least one, all with this label, and only white space between them. */
export function readPemBlocks(text: string, label: PemLabel): Parsed<readonly Uint8Array[]> {
  const blocks: Uint8Array[] = [];
  const rest = text.replace(blockPattern(label), (whole, body: string) => {
    const der = fromBase64(body.replace(/\s/g, ''));
    if (der === null) return whole;
    blocks.push(der);
    return '';
  });
  if (blocks.length === 0) return unparsable(`has no ${label} in PEM`);
  if (rest.trim() !== '') return unparsable(`has text outside its ${label} blocks`);
  return parsed(blocks);
}

export function readPemBlock(text: string, label: PemLabel): Parsed<Uint8Array> {
  const blocks = readPemBlocks(text, label);
  if (!blocks.ok) return blocks;
  const [only, ...others] = blocks.value;
  if (only === undefined || others.length > 0)
    return unparsable(`has ${blocks.value.length} ${label} blocks; exactly one is required`);
  return parsed(only);
}

/** The body has no hyphen, so that two blocks never match as one, and the search stays linear. */
const blockPattern = (label: PemLabel): RegExp =>
  new RegExp(`-----BEGIN ${label}-----\\r?\\n([A-Za-z0-9+/=\\s]*)-----END ${label}-----`, 'g');

/** Buffer skips characters that are not base64; only a text that round-trips is valid. */
function fromBase64(text: string): Uint8Array | null {
  const bytes = Buffer.from(text, 'base64');
  return bytes.length > 0 && bytes.toString('base64') === text ? Uint8Array.from(bytes) : null;
}
