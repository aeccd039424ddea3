// Files of environment variables that a shell sources with `.` and systemd reads with EnvironmentFile=. Both support double
// quotes with these four escapes; they disagree about single quotes inside a value.

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lineLexer, ONLY_IN_COMMENTS, VALUE } from './lexer.ts';
import { lineProblem, NOT_TEXT, textOf, visible } from './plain-text.ts';

export const env: TextFormat = {
  literal: (value) => {
    const text = typeof value === 'boolean' ? String(value) : textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    const problem = lineProblem(text);
    return problem === null ? parsed(`"${text.replace(/[\\"$`]/g, '\\$&')}"`) : unparsable(problem);
  },
  shown: visible,
  lexer: lineLexer({
    value: (line, kind) => {
      if (kind === 'shown') return /^\s*#/.test(line) ? null : ONLY_IN_COMMENTS;
      return /^(?:export )?[A-Za-z_]\w*=$/.test(line) ? null : 'has a value that is not directly after NAME=';
    },
    text: (line, character) => (line.endsWith(VALUE) && !line.startsWith('#') && character !== '\n' ? GLUED : null),
  }),
};
