// systemd's files: units, networks, drop-ins, and other `Key=value` files. systemd.syntax(7): a word may be double-quoted with
// C-like escapes; a percent sign that is not part of a specifier is doubled.

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lineLexer, ONLY_IN_COMMENTS, VALUE } from './lexer.ts';
import { lineProblem, NOT_TEXT, textOf, visible } from './plain-text.ts';

/** A word without any special character. */
const PLAIN_WORD = /^[\w./:@,+=-]+$/;
const REMARK = /^\s*[#;]/;

export const unit: TextFormat = {
  literal: (value) => {
    const text = typeof value === 'boolean' ? String(value) : textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    // In a command line a dollar sign names a variable and $$ is a literal one; elsewhere $$ is two dollar signs.
    const problem =
      lineProblem(text) ??
      (text.includes('$') ? 'has a dollar sign, which systemd expands in some settings only' : null);
    if (problem !== null) return unparsable(problem);
    return parsed(PLAIN_WORD.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`);
  },
  shown: (value) => visible(value).replaceAll('%', '%%').replace(/\\+$/, ''),
  lexer: lineLexer({
    value: (line, kind) => {
      if (kind === 'shown') return REMARK.test(line) || /^[A-Za-z]\w*=/.test(line) ? null : ONLY_IN_COMMENTS;
      if (REMARK.test(line)) return 'has a value in a comment; use {{shown …}} there';
      if (!/^[A-Za-z][\w.-]*\s*=/.test(line)) return 'has a value that is not after Key=';
      if (line.split('"').length % 2 === 0)
        return 'has a value between quotes of the template; a value adds its own quotes';
      return /^[A-Za-z][\w.-]*\s*=\s*$|\s$/.test(line) ? null : 'has a value directly after other text';
    },
    text: (line, character) => (line.endsWith(VALUE) && !REMARK.test(line) && !/[\s]/.test(character) ? GLUED : null),
  }),
};
