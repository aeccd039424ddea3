// GRUB's script language: inside single quotes only the quote itself is special, so every value is single-quoted.
// The template text itself must not have quotes: a value could otherwise end up between two of them, unquoted.

import { parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { notAtLineStart } from './ipxe.ts';
import { lineLexer } from './lexer.ts';
import { NOT_TEXT, plainProblem, textOf, visible } from './plain-text.ts';

export const grub: TextFormat = {
  literal: (value) => {
    const text = textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    const problem = plainProblem(text) ?? (/['$]/.test(text) ? "has one of ' $, which GRUB cannot quote" : null);
    return problem === null ? parsed(`'${text}'`) : unparsable(`${problem}: ${shown(text)}`);
  },
  shown: (value) => `'${visible(value).replaceAll("'", '"').replaceAll('$', '?') || '-'}'`,
  lexer: lineLexer({
    value: notAtLineStart,
    text: (_line, character) =>
      /['"\\]/.test(character) ? 'has a quote or a backslash outside a value; values add their own quotes' : null,
  }),
};
