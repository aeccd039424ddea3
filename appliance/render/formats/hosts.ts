// hosts(5): one line per address, with its names. Nothing can be quoted, so only addresses and host names are allowed.

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lineLexer, ONLY_IN_COMMENTS, VALUE } from './lexer.ts';
import { visible } from './plain-text.ts';

const WORD = /^[A-Za-z0-9](?:[A-Za-z0-9.:-]{0,252}[A-Za-z0-9])?$/;

export const hosts: TextFormat = {
  literal: (value) =>
    typeof value === 'string' && WORD.test(value) ? parsed(value) : unparsable('is neither an address nor a host name'),
  shown: visible,
  lexer: lineLexer({
    value: (line, kind) => {
      if (kind === 'shown') return line.includes('#') ? null : ONLY_IN_COMMENTS;
      if (line.includes('#')) return 'has a value in a comment; use {{shown …}} there';
      return line === '' || /\s$/.test(line) ? null : 'has a value directly after other text';
    },
    text: (line, character) => (line.endsWith(VALUE) && !line.includes('#') && !/\s/.test(character) ? GLUED : null),
  }),
};
