// POSIX shell. Inside single quotes only the quote itself is special, so every value is single-quoted.

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { NOT_TEXT, textOf, unicodeProblem, visible } from './plain-text.ts';
import { shellLexer } from './shell-lexer.ts';

export const shell: TextFormat = {
  literal: (value) => {
    const text = typeof value === 'boolean' ? String(value) : textOf(value);
    if (text === null) return unparsable(`${NOT_TEXT}; use {{#each}} for a list`);
    const problem = unicodeProblem(text);
    return problem === null ? parsed(`'${text.replaceAll("'", "'\\''")}'`) : unparsable(problem);
  },
  shown: visible,
  lexer: shellLexer,
};
