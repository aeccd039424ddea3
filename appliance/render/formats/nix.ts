// The Nix language. A value is a complete expression that needs no parentheses: a double-quoted string, a number, a list, a set.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import type { TextFormat } from './format.ts';
import { nixLexer } from './nix-lexer.ts';
import { type DataWriter, writeData } from './plain-data.ts';
import { unicodeProblem, visible } from './plain-text.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '"': '\\"',
  $: '\\$',
  '\n': '\\n',
  // Nix removes a raw carriage return before a line feed.
  '\r': '\\r',
  '\t': '\\t',
};

function nixText(value: string): Parsed<string> {
  const problem = unicodeProblem(value);
  if (problem !== null) return unparsable(problem);
  return parsed(`"${value.replace(/[\\"$\n\r\t]/g, (character) => ESCAPES[character] ?? '')}"`);
}

const KEYWORDS = new Set(['assert', 'else', 'if', 'in', 'inherit', 'let', 'or', 'rec', 'then', 'with']);
const IDENTIFIER = /^[A-Za-z_][\w-]*$/;

const writer: DataWriter = {
  text: nixText,
  // A minus sign in a list would be parsed as an operator.
  integer: (value) => (value < 0 ? `(${value})` : String(value)),
  key: (name) => (IDENTIFIER.test(name) && !KEYWORDS.has(name) ? parsed(name) : nixText(name)),
  list: (items) => (items.length === 0 ? '[ ]' : `[ ${items.join(' ')} ]`),
  set: (entries) =>
    entries.length === 0 ? '{ }' : `{ ${entries.map(([key, value]) => `${key} = ${value};`).join(' ')} }`,
};

export const nix: TextFormat = {
  literal: (value) => writeData(value, writer),
  shown: visible,
  lexer: nixLexer,
};
