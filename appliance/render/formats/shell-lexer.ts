// Where a value may be in a shell script: as a word or the end of one, in code; never between quotes of the template, in a
// here-document, in a comment, or where a command is expected. To use a value inside other text, assign it to a variable first.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import {
  before,
  innermost,
  instead,
  into,
  isSpace,
  type LexerState,
  lexer,
  ONLY_IN_COMMENTS,
  outOf,
  type PlaceholderKind,
} from './lexer.ts';

export const shellLexer = lexer({ start: 'code', step, value, end });

function step(state: LexerState, character: string): Parsed<string> {
  const { mode, line } = state;
  const place = innermost(mode);
  if (place.startsWith('document ')) return inDocument(state, character);
  switch (place) {
    case 'code':
    case 'group':
      return inCode(state, character);
    case 'escape':
      return parsed(character === '\n' ? instead(mode, 'joined') : outOf(mode));
    case 'joined':
      // The preceding line continues here: the first word is not a command.
      return /[ \t]/.test(character) && line.trim() === ''
        ? parsed(mode)
        : inCode({ mode: outOf(mode), line }, character);
    case 'single':
      return parsed(character === "'" ? outOf(mode) : mode);
    case 'double':
      if (character === '"') return parsed(outOf(mode));
      return expansion(state, character) ?? parsed(mode);
    case 'brace':
      if (character === '}') return parsed(outOf(mode));
      if (character === '"') return parsed(into(mode, 'double'));
      if (character === "'") return unparsable('has a single quote inside the braces of a parameter expansion');
      return expansion(state, character) ?? parsed(mode);
    case 'remark':
      return character === '\n' ? inCode({ ...state, mode: outOf(mode), line: '' }, character) : parsed(mode);
    default:
      return unparsable(`cannot be parsed as shell: ${mode}`);
  }
}

/** Characters with the same meaning inside and outside double quotes. */
function expansion(state: LexerState, character: string): Parsed<string> | null {
  const { mode } = state;
  if (character === '\\') return parsed(into(mode, 'escape'));
  if (character === '`') return unparsable('has a backquote; write $( )');
  if (before(state) !== '$' || /\\\$$/.test(state.line)) return null;
  if (character === '(') return parsed(into(mode, 'group'));
  return character === '{' ? parsed(into(mode, 'brace')) : null;
}

function inCode(state: LexerState, character: string): Parsed<string> {
  const { mode, line } = state;
  const last = before(state);
  if (character === '\n') return documentAfter(state);
  const common = expansion(state, character);
  if (common !== null) return common;
  if (character === "'") {
    return last === '$' ? unparsable("has $'…', which is not POSIX") : parsed(into(mode, 'single'));
  }
  if (character === '"') return parsed(into(mode, 'double'));
  if (character === '#' && (isSpace(last) || /[;(&|]/.test(last))) return parsed(into(mode, 'remark'));
  if (character === '(') return parsed(into(mode, 'group'));
  if (innermost(mode) !== 'group') return parsed(mode);
  // Its patterns end with an unmatched parenthesis.
  if (isSpace(character) && /(?:^|[\s;(])case$/.test(line))
    return unparsable('has a case inside parentheses, which is not supported');
  return parsed(character === ')' ? outOf(mode) : mode);
}

const DOCUMENT = /(?<!<)<<-?\s*(["'\\]?)([A-Za-z_]\w*)\1/g;

function documentAfter({ mode, line }: LexerState): Parsed<string> {
  const found = [...line.matchAll(DOCUMENT)];
  if (found.length > 1) return unparsable('has two here-documents in one line');
  return parsed(found[0] ? into(mode, `document ${found[0][2]}`) : mode);
}

function inDocument({ mode, line }: LexerState, character: string): Parsed<string> {
  const ends = character === '\n' && line.replace(/^\t+/, '') === innermost(mode).slice('document '.length);
  return parsed(ends ? outOf(mode) : mode);
}

function value(state: LexerState, kind: PlaceholderKind): string | null {
  const place = innermost(state.mode);
  if (kind === 'shown') return place === 'remark' ? null : ONLY_IN_COMMENTS;
  if (place === 'remark') return 'has a value in a comment; use {{shown …}} there';
  if (place.startsWith('document ')) return 'has a value in a here-document, where it is not quoted';
  if (place === 'joined') return null;
  if (place !== 'code' && place !== 'group')
    return 'has a value between quotes of the template; a value adds its own quotes';
  if (/(?:^|[;&|({]|\b(?:then|do|else))\s*$/.test(state.line)) return 'has a value where a command is expected';
  return /[\s=:/,@."'}-]$/.test(state.line)
    ? null
    : 'has a value directly after other text; assign it to a variable first';
}

function end({ mode }: LexerState): string | null {
  return mode === 'code' || mode === 'code>remark' ? null : `leaves ${innermost(mode)} open at its end`;
}
