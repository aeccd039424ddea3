// Text from machines as it is shown: control, bidi and zero-width characters become visible symbols.

import { UNSAFE_CHARACTERS } from '../../domain/plain-line.ts';

const SYMBOLS_FOR_CONTROLS = 0x2400;
const LAST_C0 = 0x1f;
const DELETE = 0x7f;

function symbolFor(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code <= LAST_C0) return String.fromCodePoint(SYMBOLS_FOR_CONTROLS + code);
  if (code === DELETE) return '␡';
  return `‹U+${code.toString(16).toUpperCase().padStart(4, '0')}›`;
}

/** One line. */
export const visible = (text: string): string => text.replace(UNSAFE_CHARACTERS, symbolFor);

/** Several lines: line feeds and tabs stay. */
export const visibleLines = (text: string): string =>
  text.replace(UNSAFE_CHARACTERS, (character) =>
    character === '\n' || character === '\t' ? character : symbolFor(character),
  );

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;

/** `dhcp.acknowledged` and `bmc_address` as words. */
export const words = (name: string): string => name.replace(/[._-]+/g, ' ');

export const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
