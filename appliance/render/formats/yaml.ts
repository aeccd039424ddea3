// YAML, written as JSON on one line with a space after every colon, which all versions of YAML read alike. Strings are always
// quoted, so that `no`, `1:30` and `0x1f` stay strings.

import { load, YAMLException } from 'js-yaml';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { type DataWriter, writeData } from './plain-data.ts';
import { unicodeProblem, visible } from './plain-text.ts';
import { yamlLexer } from './yaml-lexer.ts';

/** JSON does not escape these; YAML 1.2 §5.1 treats them as non-printable or as line breaks. */
const NOT_PRINTABLE = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g;

function yamlText(value: string): Parsed<string> {
  const problem = unicodeProblem(value);
  if (problem !== null) return unparsable(problem);
  const escaped = JSON.stringify(value).replace(
    NOT_PRINTABLE,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return parsed(escaped);
}

/** YAML 1.2 §7.4.3: a key on one line has at most 1,024 characters. */
const LONGEST_KEY = 1000;

const writer: DataWriter = {
  text: yamlText,
  integer: String,
  key: (name) => {
    const text = yamlText(name);
    if (!text.ok || text.value.length <= LONGEST_KEY) return text;
    return unparsable(`has a key of more than ${LONGEST_KEY} characters`);
  },
  list: (items) => `[${items.join(', ')}]`,
  set: (entries) => `{${entries.map(([key, value]) => `${key}: ${value}`).join(', ')}}`,
};

export const yaml: TextFormat = {
  literal: (value) => writeData(value, writer),
  shown: visible,
  lexer: yamlLexer,
  problemOf: (made) => {
    try {
      load(made);
      return null;
    } catch (error) {
      // The excerpt in the message is dropped: it could contain a secret.
      const what = error instanceof YAMLException ? `: ${error.reason} in line ${(error.mark?.line ?? 0) + 1}` : '';
      return `is not YAML${what}`;
    }
  },
};
