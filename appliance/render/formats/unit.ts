// systemd's files: units, networks, drop-ins, and whatever else is `Key=value`. systemd.syntax(7): a word may stand in double
// quotes with C-like escapes; a percent sign is doubled where it does not name a specifier.

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lineLexer, ONLY_IN_COMMENTS, VALUE } from './lexer.ts';
import { lineProblem, NOT_TEXT, textOf, visible } from './plain-text.ts';

/** Nothing in such a word is special, wherever it stands. */
const PLAIN_WORD = /^[\w./:@,+=-]+$/;
const REMARK = /^\s*[#;]/;

export const unit: TextFormat = {
  literal: (value) => {
    const text = typeof value === 'boolean' ? String(value) : textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    // In a command line a dollar names a variable, and two are one; elsewhere two are two.
    const problem = lineProblem(text) ?? (text.includes('$') ? 'has a dollar, which systemd expands or not' : null);
    if (problem !== null) return unparsable(problem);
    return parsed(PLAIN_WORD.test(text) ? text : `"${text.replace(/[\\"]/g, '\\$&').replaceAll('%', '%%')}"`);
  },
  shown: (value) => visible(value).replaceAll('%', '%%').replace(/\\+$/, ''),
  lexer: lineLexer({
    value: (line, kind) => {
      if (kind === 'shown') return REMARK.test(line) || /^[A-Za-z]\w*=/.test(line) ? null : ONLY_IN_COMMENTS;
      if (REMARK.test(line)) return 'has a value in a comment; there it is {{shown …}}';
      if (!/^[A-Za-z][\w.-]*\s*=/.test(line)) return 'has a value anywhere but behind Key=';
      if (line.split('"').length % 2 === 0) return 'has a value between its own quotes; a value brings its own';
      return /^[A-Za-z][\w.-]*\s*=\s*$|\s$/.test(line) ? null : 'has a value directly behind other text';
    },
    text: (line, character) => (line.endsWith(VALUE) && !REMARK.test(line) && !/[\s]/.test(character) ? GLUED : null),
  }),
};
