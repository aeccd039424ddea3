// iPXE's shell (src/core/exec.c, src/image/script.c) has no quotes and no escapes. A line is split at white space; a word
// that is `||`, `&&` or `;` ends the command, one that starts with `#` the line; `${…}` is expanded, a backslash at the
// end of a line joins the next one, and a colon at its beginning makes it a label.

import { parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { lineLexer } from './lexer.ts';
import { NOT_TEXT, plainProblem, textOf, visible } from './plain-text.ts';

export const ipxe: TextFormat = {
  literal: (value) => {
    const text = textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    const problem = plainProblem(text) ?? ipxeProblem(text);
    return problem === null ? parsed(text) : unparsable(`${problem}: ${shown(text)}`);
  },
  shown: (value) => {
    const words = visible(value).replace(/[{$}\\]/g, (character) => STAND_INS[character] ?? '?');
    const safe = words.split(/ +/).flatMap((word) => (word === '' ? [] : [wordOf(word)]));
    // Only before the first plain word does a hyphen make an option.
    return safe.join(' ').replace(/^-+/, '?') || '?';
  },
  lexer: lineLexer({ value: notAtLineStart }),
};

/** There a value would be the command itself, or a label. */
export function notAtLineStart(line: string): string | null {
  return /^[ \t]*$/.test(line) ? 'has a value at the start of a line, where a command stands' : null;
}

const STAND_INS: Readonly<Record<string, string>> = { '{': '(', '}': ')', '\\': '/' };

/** A word of nothing but these could end the command; with any other character in it, it cannot. */
const ONLY_OPERATORS = /^[|&;]+$/;

function ipxeProblem(value: string): string | null {
  if (value.includes(' ')) return 'has a space, which iPXE cannot quote';
  // `{` on its own would complete a `$` that stands before the value.
  if (/[${}]/.test(value)) return 'has one of $ { }, which iPXE would expand';
  if (value.includes('\\')) return 'has a backslash, which joins lines in iPXE';
  if (value.startsWith('#')) return 'starts with #, which begins a comment in iPXE';
  if (value.startsWith('-')) return 'starts with a hyphen, which makes an option of it';
  return ONLY_OPERATORS.test(value) ? 'is an operator of iPXE' : null;
}

const wordOf = (word: string): string => (ONLY_OPERATORS.test(word) ? '?' : word.replace(/^#+/, '?'));
