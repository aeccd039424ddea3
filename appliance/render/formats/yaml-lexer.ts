// Where a value may be in YAML: as a whole node; not inside a plain or quoted scalar, and not in a block scalar, where its
// quotes would become part of the text.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { GLUED, type LexerState, lexer, ONLY_IN_COMMENTS, type PlaceholderKind, VALUE } from './lexer.ts';

export const yamlLexer = lexer({ start: 'plain', step, value, end });

/** At the start of a line (a key), after `- `, `? ` or `: `, or inside brackets. */
const NODE_STARTS = /^[ ]*$|(?:^|[ ])[-?][ ]+$|:[ ]+$|[[{,][ ]*$/;
const BLOCK_STARTS = /(?:^|[ ])[|>][-+\d]*[ ]*(?:[ ]#.*)?$/;

function step(state: LexerState, character: string): Parsed<string> {
  const { mode, line } = state;
  if (mode === 'escape') return parsed('double');
  if (mode === 'double') return parsed(character === '\\' ? 'escape' : character === '"' ? 'plain' : mode);
  if (mode === 'single') return parsed(character === "'" ? 'plain' : mode);
  if (mode === 'remark') return parsed(character === '\n' ? 'plain' : mode);
  if (mode.startsWith('block')) {
    return endsBlock(state, character) ? inPlain({ mode: 'plain', line }, character) : parsed(mode);
  }
  return inPlain(state, character);
}

function inPlain({ mode, line }: LexerState, character: string): Parsed<string> {
  if (character === '\n') return parsed(BLOCK_STARTS.test(line) ? `block ${blockIndent(line)}` : mode);
  if (character === '#' && /^$|[\s]$/.test(line)) return parsed('remark');
  if (line.trimEnd().endsWith(VALUE) && !/[ ,:\]}]/.test(character)) return unparsable(GLUED);
  if (character === '\t' && /^[ ]*$/.test(line)) return unparsable('is indented with a tab');
  const startsNode = NODE_STARTS.test(line);
  if (character === '"' && startsNode) return parsed('double');
  return parsed(character === "'" && startsNode ? 'single' : mode);
}

/** A block continues while its lines are indented further than its parent. */
function endsBlock({ mode, line }: LexerState, character: string): boolean {
  if (character === '\n' || character === ' ' || !/^[ ]*$/.test(line)) return false;
  return line.length <= Number(mode.slice('block '.length));
}

function blockIndent(line: string): number {
  const dashes = /^[ ]*(?:-[ ]+)*/.exec(line)?.[0] ?? '';
  const isEntry = /^[|>]/.test(line.slice(dashes.length));
  if (!isEntry) return dashes.length;
  return dashes.includes('-') ? dashes.lastIndexOf('-') : -1;
}

function value(state: LexerState, kind: PlaceholderKind): string | null {
  const { mode, line } = state;
  if (kind === 'shown') return mode === 'remark' ? null : ONLY_IN_COMMENTS;
  if (mode === 'remark') return 'has a value in a comment; use {{shown …}} there';
  if (mode === 'double' || mode === 'single' || mode === 'escape') {
    return 'has a value between quotes of the template; a value adds its own quotes';
  }
  if (mode.startsWith('block') && !endsBlock(state, VALUE)) {
    return 'has a value in a block of text, where its quotes would be part of the text; pass the whole text as one value';
  }
  return NODE_STARTS.test(line) ? null : 'has a value inside a text, where its quotes would be part of the text';
}

function end({ mode }: LexerState): string | null {
  return mode === 'double' || mode === 'single' || mode === 'escape' ? 'leaves a quote open at its end' : null;
}
