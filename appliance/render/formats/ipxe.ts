// iPXE's shell (src/core/exec.c, src/image/script.c) has no quotes and no escapes. A line is split at white space; the words
// `||`, `&&` and `;` end the command, a word that starts with `#` ends the line; `${…}` is expanded, a backslash at the end
// of a line joins the next one, and a colon at the start of a line makes it a label.

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
    // A hyphen starts an option only before the first plain word.
    return safe.join(' ').replace(/^-+/, '?') || '?';
  },
  lexer: lineLexer({ value: notAtLineStart }),
};

/** There the value would become the command or a label. */
export function notAtLineStart(line: string): string | null {
  return /^[ \t]*$/.test(line) ? 'has a value at the start of a line, where a command is expected' : null;
}

const STAND_INS: Readonly<Record<string, string>> = { '{': '(', '}': ')', '\\': '/' };

/** A word of only these characters could end the command; any other character prevents that. */
const ONLY_OPERATORS = /^[|&;]+$/;

function ipxeProblem(value: string): string | null {
  if (value.includes(' ')) return 'has a space, which iPXE cannot quote';
  // A `{` alone would complete a `$` directly before the value.
  if (/[${}]/.test(value)) return 'has one of $ { }, which iPXE would expand';
  if (value.includes('\\')) return 'has a backslash, which joins lines in iPXE';
  if (value.startsWith('#')) return 'starts with #, which starts a comment in iPXE';
  if (value.startsWith('-')) return 'starts with a hyphen, which makes it an option';
  return ONLY_OPERATORS.test(value) ? 'is an iPXE operator' : null;
}

const wordOf = (word: string): string => (ONLY_OPERATORS.test(word) ? '?' : word.replace(/^#+/, '?'));
