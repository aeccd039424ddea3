// Where in a template's own text a value may stand. A format reads the text character by character and knows at each
// place whether it is between quotes, in a comment, or where a value belongs.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

export interface LexerState {
  /** What the place is part of; the format's own words, innermost last. */
  readonly mode: string;
  /** What stands before on the same line; each value is one VALUE. */
  readonly line: string;
}

/** Stands for a value in `line`. No template has this character: Handlebars would print it, no format could read it. */
export const VALUE = '\u0000';

export type PlaceholderKind = 'value' | 'shown';

export interface Lexer {
  readonly start: LexerState;
  /** The state behind this text. */
  readonly text: (state: LexerState, text: string) => Parsed<LexerState>;
  /** The state behind a placeholder, or why none may stand here. */
  readonly value: (state: LexerState, kind: PlaceholderKind) => Parsed<LexerState>;
  /** What is left open at the end of the template. */
  readonly end: (state: LexerState) => string | null;
}

interface LexerRules {
  readonly start: string;
  /** The mode behind one more character. */
  readonly step: (state: LexerState, character: string) => Parsed<string>;
  /** Why no value may stand here. */
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

/** Each state once. */
export const dedupe = (states: readonly LexerState[]): readonly LexerState[] => [
  ...new Map(states.map((state) => [`${state.mode}\n${state.line}`, state])).values(),
];

/** The character before, or a line feed at the start of a line. */
export const before = (state: LexerState): string => state.line.at(-1) ?? '\n';

export const isSpace = (character: string): boolean => /\s/.test(character);

/** Modes as a stack: one word each, outermost first. */
export const innermost = (mode: string): string => mode.slice(mode.lastIndexOf('>') + 1);
export const into = (mode: string, word: string): string => `${mode}>${word}`;
export const outOf = (mode: string): string => (mode.includes('>') ? mode.slice(0, mode.lastIndexOf('>')) : mode);
export const instead = (mode: string, word: string): string => into(outOf(mode), word);

/** For formats without anything that goes over a line: the rule sees what stands before. */
export const lineLexer = (rules: {
  readonly value: (line: string, kind: PlaceholderKind) => string | null;
  /** Why this character may not follow what stands before. */
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

export const GLUED = 'has text directly behind a value, which would become part of it';
export const ONLY_IN_COMMENTS = 'has {{shown …}} outside a comment; values stand as {{…}}';
