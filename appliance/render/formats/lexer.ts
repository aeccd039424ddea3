// Checks where in the template text a value may be. A format reads the text character by character and tracks whether it is
// between quotes, in a comment, or where a value is allowed.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

export interface LexerState {
  /** The syntactic context, as named by the format; innermost last. */
  readonly mode: string;
  /** The text before this place on the same line; each value is one VALUE. */
  readonly line: string;
}

/** Represents a value in `line`. The template reader rejects templates with this character. */
export const VALUE = '\u0000';

export type PlaceholderKind = 'value' | 'shown';

export interface Lexer {
  readonly start: LexerState;
  /** The state after this text. */
  readonly text: (state: LexerState, text: string) => Parsed<LexerState>;
  /** The state after a placeholder, or why no placeholder is allowed here. */
  readonly value: (state: LexerState, kind: PlaceholderKind) => Parsed<LexerState>;
  /** What is unclosed at the end of the template. */
  readonly end: (state: LexerState) => string | null;
}

interface LexerRules {
  readonly start: string;
  /** The mode after one more character. */
  readonly step: (state: LexerState, character: string) => Parsed<string>;
  /** Why no value is allowed here. */
  readonly value: (state: LexerState, kind: PlaceholderKind) => string | null;
  readonly end?: (state: LexerState) => string | null;
}

export function lexer(rules: LexerRules): Lexer {
  return {
    start: { mode: rules.start, line: '' },
    text: (state, text) => {
      let now = state;
      for (const character of text) {
        const mode = rules.step(now, character);
        if (!mode.ok) return mode;
        now = { mode: mode.value, line: character === '\n' ? '' : now.line + character };
      }
      return parsed(now);
    },
    value: (state, kind) => {
      const problem = rules.value(state, kind);
      return problem === null ? parsed({ mode: state.mode, line: state.line + VALUE }) : unparsable(problem);
    },
    end: rules.end ?? (() => null),
  };
}

/** Removes duplicate states. */
export const dedupe = (states: readonly LexerState[]): readonly LexerState[] => [
  ...new Map(states.map((state) => [`${state.mode}\n${state.line}`, state])).values(),
];

/** The preceding character, or a line feed at the start of a line. */
export const before = (state: LexerState): string => state.line.at(-1) ?? '\n';

export const isSpace = (character: string): boolean => /\s/.test(character);

/** Modes form a stack: one word each, outermost first. */
export const innermost = (mode: string): string => mode.slice(mode.lastIndexOf('>') + 1);
export const into = (mode: string, word: string): string => `${mode}>${word}`;
export const outOf = (mode: string): string => (mode.includes('>') ? mode.slice(0, mode.lastIndexOf('>')) : mode);
export const instead = (mode: string, word: string): string => into(outOf(mode), word);

/** For formats without multi-line constructs: the rule sees the preceding text of the line. */
export const lineLexer = (rules: {
  readonly value: (line: string, kind: PlaceholderKind) => string | null;
  /** Why this character may not follow the preceding text. */
  readonly text?: (line: string, character: string) => string | null;
}): Lexer =>
  lexer({
    start: 'line',
    step: ({ mode, line }, character) => {
      const problem = rules.text?.(line, character) ?? null;
      return problem === null ? parsed(mode) : unparsable(problem);
    },
    value: ({ line }, kind) => rules.value(line, kind),
  });

export const GLUED = 'has text directly after a value, which would become part of it';
export const ONLY_IN_COMMENTS = 'has {{shown …}} outside a comment; write values as {{…}}';
