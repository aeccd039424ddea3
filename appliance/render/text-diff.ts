// Compares two texts by lines; returns a unified diff that `patch` accepts.

import { FILE_HEADERS_ONLY, formatPatch, type StructuredPatch, structuredPatch } from 'diff';

export interface TextDiff {
  readonly added: number;
  readonly removed: number;
  /** Including the two headers; empty if the texts are equal. */
  readonly text: string;
}

const CONTEXT = 3;
/** The search for the shortest diff takes quadratic time. Above this limit the whole text is replaced. */
const MOST_EDITS = 1000;

/** `from` and `to` are the names in the headers; null: there is no such file. */
export function textDiff(before: string, after: string, from: string | null, to: string | null): TextDiff {
  const names = [from ?? '/dev/null', to ?? '/dev/null'] as const;
  const patch =
    structuredPatch(...names, before, after, undefined, undefined, { context: CONTEXT, maxEditLength: MOST_EDITS }) ??
    replacement(names, before, after);
  const lines = patch.hunks.flatMap((hunk) => hunk.lines);
  const count = (mark: string): number => lines.filter((line) => line.startsWith(mark)).length;
  return {
    added: count('+'),
    removed: count('-'),
    text: lines.length === 0 ? '' : formatPatch(patch, FILE_HEADERS_ONLY),
  };
}

function replacement(names: readonly [string, string], before: string, after: string): StructuredPatch {
  const removed = structuredPatch(...names, before, '');
  const added = structuredPatch(...names, '', after);
  const [old, now] = [removed.hunks[0], added.hunks[0]];
  if (!old || !now) return old ? removed : added;
  const { newStart, newLines } = now;
  return { ...removed, hunks: [{ ...old, newStart, newLines, lines: [...old.lines, ...now.lines] }] };
}
