// DNS zone files (RFC 1035 §5.1). {{…}} is a name, an address or a number, and is checked; {{shown …}} is the quoted text of a
// TXT record.

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lexer, VALUE } from './lexer.ts';
import { NOT_TEXT, textOf } from './plain-text.ts';

/** RFC 2181 §11 allows more in a label; all servers accept these, with RFC 2317's slash and RFC 2782's underscore. */
const NAME = /^(?:\*\.|@$)?(?:[A-Za-z0-9_](?:[\w/-]{0,61}[A-Za-z0-9_])?(?:\.|$))*$/;
const LONGEST_NAME = 254;
const LONGEST_STRING = 255;

export const zone: TextFormat = {
  literal: (value) => {
    const text = textOf(value);
    if (text === null) return unparsable(NOT_TEXT);
    if (text === '' || text.length > LONGEST_NAME || !NAME.test(text)) {
      return unparsable('is neither a DNS name nor an address');
    }
    return parsed(text);
  },
  shown: (value) => {
    const bytes = new TextEncoder().encode(value);
    const strings: string[] = [];
    for (let at = 0; at === 0 || at < bytes.length; at += LONGEST_STRING) {
      strings.push(`"${[...bytes.subarray(at, at + LONGEST_STRING)].map(character).join('')}"`);
    }
    return strings.join(' ');
  },
  lexer: lexer({
    start: 'code',
    step: ({ mode, line }, next) => {
      if (mode === 'remark') return parsed(next === '\n' ? 'code' : mode);
      if (mode === 'escape') return parsed('text');
      if (mode === 'text') return parsed(next === '\\' ? 'escape' : next === '"' ? 'code' : mode);
      if (line.endsWith(VALUE) && !/[\s)]/.test(next)) return unparsable(GLUED);
      return parsed(next === ';' ? 'remark' : next === '"' ? 'text' : 'code');
    },
    value: ({ mode, line }, kind) => {
      if (mode === 'remark') return 'has a value in a comment';
      if (mode !== 'code') return 'has a value between quotes of the template; {{shown …}} adds its own quotes';
      if (kind === 'shown' && !/\s$/.test(line)) return 'has a text where a name is expected';
      return line === '' || /[\s(]$/.test(line) ? null : 'has a value directly after other text';
    },
    end: ({ mode }) => (mode === 'code' || mode === 'remark' ? null : 'leaves a quote open at its end'),
  }),
};

/** Escapes everything but plain ASCII as \DDD. */
function character(byte: number): string {
  const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x22 && byte !== 0x5c;
  return isPlain ? String.fromCharCode(byte) : `\\${String(byte).padStart(3, '0')}`;
}
