// The differences between two renderings of the same thing, per file. A secret file is reported by its path only.

import type { RenderedFile } from './rendered-file.ts';
import { textDiff } from './text-diff.ts';

export interface FileChange {
  readonly path: string;
  readonly change: 'added' | 'removed' | 'changed';
  /** Number of lines. 0 for a secret file. */
  readonly added: number;
  readonly removed: number;
  /** Unified diff; empty for a secret file, and if only the mode differs. */
  readonly diff: string;
}

/** By path. */
export function renderingDiff(before: readonly RenderedFile[], after: readonly RenderedFile[]): FileChange[] {
  const old = new Map(before.map((file) => [file.path, file]));
  const now = new Map(after.map((file) => [file.path, file]));
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort();
  return paths.flatMap((path) => {
    const [from, to] = [old.get(path), now.get(path)];
    if (from && to && from.text === to.text && from.mode === to.mode) return [];
    const change = from ? (to ? 'changed' : 'removed') : 'added';
    if (from?.secret || to?.secret) return [{ path, change, added: 0, removed: 0, diff: '' }];
    const { added, removed, text } = textDiff(
      from?.text ?? '',
      to?.text ?? '',
      from ? `a/${path}` : null,
      to ? `b/${path}` : null,
    );
    return [{ path, change, added, removed, diff: text }];
  });
}
