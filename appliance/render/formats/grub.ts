// GRUB's script language: inside single quotes nothing is special but the quote itself, so every value comes in them.
// The templates' own text has none: a value could otherwise land between two of theirs, unquoted.

import { parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { notAtLineStart } from './ipxe.ts';
import { lineLexer } from './lexer.ts';
import { NOT_TEXT, plainProblem, textOf, visible } from './plain-text.ts';

export const grub: TextFormat = {
  literal: (value) => {
    const text = textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    const problem = plainProblem(text) ?? (/['$]/.test(text) ? "has one of ' $, which GRUB cannot take" : null);
    return problem === null ? parsed(`'${text}'`) : unparsable(`${problem}: ${shown(text)}`);
  },
  shown: (value) => `'${visible(value).replaceAll("'", '"').replaceAll('$', '?') || '-'}'`,
  lexer: lineLexer({
    value: notAtLineStart,
    text: (_line, character) =>
      /['"\\]/.test(character) ? 'has a quote or a backslash of its own; the values bring theirs' : null,
  }),
};
