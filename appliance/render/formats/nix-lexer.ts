// Where a value may be in Nix: in an expression, as a separate word; never between quotes of the template. Nix has two kinds
// of quotes, "…" and ''…'', both with ${…} inside, which is an expression again.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import {
  before,
  GLUED,
  innermost,
  instead,
  into,
  isSpace,
  type LexerState,
  lexer,
  ONLY_IN_COMMENTS,
  outOf,
  type PlaceholderKind,
  VALUE,
} from './lexer.ts';

const MAY_PRECEDE = /[\s([{=.;,:]/;
const MAY_FOLLOW = /[\s)\]};.,=:]/;

export const nixLexer = lexer({ start: 'code', step, value, end });

function step(state: LexerState, character: string): Parsed<string> {
  const { mode } = state;
  switch (innermost(mode)) {
    case 'code':
      return inCode(state, character);
    case 'remark':
      return parsed(character === '\n' ? outOf(mode) : mode);
    case 'long remark':
      return parsed(character === '/' && /[^/]\*$|^\*$/.test(state.line) ? outOf(mode) : mode);
    case 'text':
      if (character === '"') return parsed(outOf(mode));
      return parsed(character === '\\' ? into(mode, 'escape') : withDollar(mode, character));
    case 'indented':
      return parsed(character === "'" ? into(mode, 'quote') : withDollar(mode, character));
    case 'escape':
      return parsed(outOf(mode));
    case 'dollar':
      if (character === '{') return parsed(instead(mode, 'code'));
      // $$ is two literal dollar signs, whatever follows.
      return character === '$' ? parsed(outOf(mode)) : step({ ...state, mode: outOf(mode) }, character);
    case 'quote':
      if (character === "'") return parsed(instead(mode, 'quotes'));
      return step({ ...state, mode: outOf(mode) }, character);
    case 'quotes':
      // '' ends the string, except before another quote, a dollar sign or a backslash, which it escapes.
      if (character === "'" || character === '$') return parsed(outOf(mode));
      if (character === '\\') return parsed(instead(mode, 'escape'));
      return step({ ...state, mode: outOf(outOf(mode)) }, character);
    default:
      return unparsable(`cannot be parsed as Nix: ${mode}`);
  }
}

const withDollar = (mode: string, character: string): string => (character === '$' ? into(mode, 'dollar') : mode);

function inCode(state: LexerState, character: string): Parsed<string> {
  const { mode } = state;
  const last = before(state);
  if (last === VALUE && !MAY_FOLLOW.test(character)) return unparsable(GLUED);
  if (character === '"') return parsed(into(mode, 'text'));
  if (character === "'" && last === "'") return parsed(into(mode, 'indented'));
  if (character === '#') return parsed(into(mode, 'remark'));
  if (character === '*' && last === '/') return parsed(into(mode, 'long remark'));
  if (character === '{') return parsed(into(mode, 'code'));
  return parsed(character === '}' ? outOf(mode) : mode);
}

function value(state: LexerState, kind: PlaceholderKind): string | null {
  const place = innermost(state.mode);
  if (kind === 'shown') return place === 'remark' ? null : ONLY_IN_COMMENTS;
  if (place === 'remark' || place === 'long remark') return 'has a value in a comment; use {{shown …}} there';
  if (place !== 'code') return 'has a value between quotes of the template; a value adds its own quotes';
  const last = before(state);
  return isSpace(last) || MAY_PRECEDE.test(last) ? null : 'has a value directly after other text';
}

function end({ mode }: LexerState): string | null {
  return mode === 'code' || mode === 'code>remark' ? null : 'leaves a quote, a brace or a comment open at its end';
}
