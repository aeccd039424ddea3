// The interface between the template engine and a format.

import type { Parsed } from '../../domain/parsed.ts';
import type { Lexer } from './lexer.ts';

export interface TextFormat {
  /** A value as a complete literal, including quotes. The reason of a rejection contains no secret. */
  readonly literal: (value: unknown) => Parsed<string>;
  /** Text for a screen or a comment. Never fails: what cannot be shown becomes a question mark. */
  readonly shown: (value: string) => string;
  /** Checks where in the template text a value may be. */
  readonly lexer: Lexer;
  /** What is wrong with a rendered text, if the format has a parser. */
  readonly problemOf?: (text: string) => string | null;
}
