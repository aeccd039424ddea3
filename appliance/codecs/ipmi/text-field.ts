// IPMI v2.0 §43.15 and the FRU specification §13: a type/length byte gives the encoding and length of a text.

/** Ends a list of fields: a text never has one byte. */
export const END_OF_FIELDS = 0xc1;

const BCD_PLUS = '0123456789 -.???';
const SIX_BIT_BASE = 0x20;

export const textLength = (typeLength: number): number => typeLength & 0x3f;

/** Type 0 is Unicode in sensor names and binary in FRU fields; nobody uses the former, so both are read as hex digits. */
export function decodeText(typeLength: number, bytes: Uint8Array): string {
  switch (typeLength >> 6) {
    case 0:
      return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    case 1:
      return Array.from(bytes, (byte) => `${BCD_PLUS[byte >> 4]}${BCD_PLUS[byte & 0x0f]}`)
        .join('')
        .trimEnd();
    case 2:
      return sixBitText(bytes);
    default:
      return printable(String.fromCharCode(...bytes));
  }
}

/** Four characters in three bytes, lowest bits first. */
function sixBitText(bytes: Uint8Array): string {
  let bits = 0;
  let held = 0;
  let text = '';
  for (const byte of bytes) {
    bits |= byte << held;
    held += 8;
    while (held >= 6) {
      text += String.fromCharCode(SIX_BIT_BASE + (bits & 0x3f));
      bits >>= 6;
      held -= 6;
    }
  }
  return text.trimEnd();
}

/** Removes padding (vendors use zeros or spaces) and control characters, which must not reach a terminal. */
const printable = (text: string): string => text.replace(/[^\x20-\x7e\xa0-\xff]/g, '').trim();
