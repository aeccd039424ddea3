// JSON (RFC 8259).

import { parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { GLUED, lexer, VALUE } from './lexer.ts';
import { type DataWriter, writeData } from './plain-data.ts';
import { unicodeProblem, visible } from './plain-text.ts';

const text: DataWriter['text'] = (value) => {
  const problem = value.isWellFormed() ? null : unicodeProblem(value);
  return problem === null ? parsed(JSON.stringify(value)) : unparsable(problem);
};

const writer: DataWriter = {
  text,
  integer: String,
  key: text,
  list: (items) => `[${items.join(', ')}]`,
  set: (entries) => `{${entries.map(([key, value]) => `${key}: ${value}`).join(', ')}}`,
};

export const json: TextFormat = {
  literal: (value) => writeData(value, writer),
  shown: visible,
  lexer: lexer({
    start: 'code',
    step: ({ mode, line }, character) => {
      if (mode === 'escape') return parsed('text');
      if (mode === 'text') return parsed(character === '\\' ? 'escape' : character === '"' ? 'code' : 'text');
      if (line.endsWith(VALUE) && !/[\s,:\]}]/.test(character)) return unparsable(GLUED);
      return parsed(character === '"' ? 'text' : 'code');
    },
    value: ({ mode, line }, kind) => {
      if (kind === 'shown') return 'has {{shown …}}, and JSON has no comments';
      if (mode !== 'code') return 'has a value between quotes of the template; a value adds its own quotes';
      return /(^|[[{:,])\s*$/.test(line) ? null : 'has a value directly after other text';
    },
    end: ({ mode }) => (mode === 'code' ? null : 'leaves a quote open at its end'),
  }),
  problemOf: (made) => {
    try {
      JSON.parse(made);
      return null;
    } catch (error) {
      // The excerpt in the message is dropped: it could contain a secret.
      const where = /position \d+(?: \(line \d+ column \d+\))?/.exec((error as Error).message)?.[0];
      return `is not JSON${where === undefined ? '' : `, at ${where}`}`;
    }
  },
};
