// Checks of a text that all formats share.

const LONGEST_ARGUMENT = 500;
const LONGEST_SHOWN = 300;

/** Only printable ASCII: for formats that cannot quote. */
export function plainProblem(value: string): string | null {
  // An empty value would make the next word take its position.
  if (value === '') return 'is empty';
  if (value.length > LONGEST_ARGUMENT) return `is longer than ${LONGEST_ARGUMENT} characters`;
  return characterProblem(value, (code) => code < 0x20 || code > 0x7e, 'is not printable ASCII');
}

/** For formats that accept any text: NUL and unpaired surrogates cannot be written to a file. */
export function unicodeProblem(value: string): string | null {
  if (!value.isWellFormed()) return 'has an unpaired surrogate';
  return value.includes('\0') ? characterProblem(value, (code) => code === 0, 'this format cannot contain') : null;
}

/** For formats where a value ends at the end of its line. */
export const lineProblem = (value: string): string | null =>
  unicodeProblem(value) ?? characterProblem(value, endsLine, 'does not fit on one line');

const endsLine = (code: number): boolean =>
  (code < 0x20 && code !== 0x09) || (code >= 0x7f && code <= 0x9f) || code === 0x2028 || code === 0x2029;

function characterProblem(value: string, isOdd: (code: number) => boolean, why: string): string | null {
  for (let at = 0; at < value.length; at++) {
    const code = value.charCodeAt(at);
    if (isOdd(code)) return `has the character U+${code.toString(16).padStart(4, '0')}, which ${why}`;
  }
  return null;
}

/** One line of ASCII for a screen or a comment: what cannot be shown becomes a question mark. */
export function visible(value: string): string {
  const ascii = value
    .replace(/\s/g, ' ')
    .replace(/[^\x20-\x7e]/g, '?')
    .trim();
  return ascii.length > LONGEST_SHOWN ? `${ascii.slice(0, LONGEST_SHOWN - 3)}...` : ascii;
}

/** A string unchanged, a number as digits. */
export function textOf(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null;
}

export const NOT_TEXT = 'is neither text nor a number';
