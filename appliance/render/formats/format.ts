// What the template engine asks of a format.

import type { Parsed } from '../../domain/parsed.ts';
import type { Lexer } from './lexer.ts';

export interface TextFormat {
  /** A value as a complete literal, quotes and all. The reason of a refusal holds no secret. */
  readonly literal: (value: unknown) => Parsed<string>;
  /** Words for a screen or a comment. Never fails: what cannot be shown becomes a question mark. */
  readonly shown: (value: string) => string;
  /** Where in a template's own text a value may stand. */
  readonly lexer: Lexer;
  /** What is wrong with a finished text, where there is a parser to ask. */
  readonly problemOf?: (text: string) => string | null;
}
