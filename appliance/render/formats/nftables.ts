// nft(8) rule sets. Numbers, addresses and prefixes are written unquoted, interface names and comments quoted, lists as sets.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lexer, ONLY_IN_COMMENTS, VALUE } from './lexer.ts';
import { lineProblem, visible } from './plain-text.ts';

const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2}|-\d{1,3}(?:\.\d{1,3}){3})?$/;
/** nftables.h: NFTNL_UDATA_COMMENT_MAXLEN. */
const LONGEST_TEXT = 128;

function word(value: unknown): Parsed<string> {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return parsed(String(value));
  if (typeof value !== 'string') return unparsable('is neither text nor a number that nft accepts');
  if (ADDRESS.test(value)) return parsed(value);
  const problem =
    lineProblem(value) ?? (/["\\]/.test(value) ? 'has a quote or a backslash, which nft cannot quote' : null);
  if (problem !== null) return unparsable(problem);
  if (value === '' || value.length > LONGEST_TEXT)
    return unparsable(`is empty or longer than ${LONGEST_TEXT} characters`);
  return parsed(`"${value}"`);
}

function set(values: readonly unknown[]): Parsed<string> {
  if (values.length === 0) return unparsable('is an empty list, and nft has no empty set');
  const words = values.map(word);
  const bad = words.find((made) => !made.ok);
  return bad ?? parsed(`{ ${words.map((made) => (made.ok ? made.value : '')).join(', ')} }`);
}

export const nftables: TextFormat = {
  literal: (value) => (Array.isArray(value) ? set(value) : word(value)),
  shown: visible,
  lexer: lexer({
    start: 'code',
    step: ({ mode, line }, next) => {
      if (mode === 'remark') return parsed(next === '\n' ? 'code' : mode);
      if (mode === 'text') return parsed(next === '"' ? 'code' : mode);
      if (line.endsWith(VALUE) && !/[\s,;}]/.test(next)) return unparsable(GLUED);
      return parsed(next === '#' ? 'remark' : next === '"' ? 'text' : 'code');
    },
    value: ({ mode, line }, kind) => {
      if (kind === 'shown') return mode === 'remark' ? null : ONLY_IN_COMMENTS;
      if (mode === 'remark') return 'has a value in a comment; use {{shown …}} there';
      if (mode === 'text') return 'has a value between quotes of the template; a value adds its own quotes';
      return /[\s{,]$/.test(line) && !/^\s*$/.test(line)
        ? null
        : 'has a value where a keyword is expected, or directly after other text';
    },
    end: ({ mode }) => (mode === 'text' ? 'leaves a quote open at its end' : null),
  }),
};
