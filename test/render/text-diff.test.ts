import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textDiff } from '../../appliance/render/text-diff.ts';
import { needPackages } from '../interop/packages.ts';

const compared = (before: string, after: string) => textDiff(before, after, 'a/file', 'b/file');

const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? [];

/** Applies a unified diff line by line. */
function applied(before: string, diff: string): string {
  const old = linesOf(before);
  const result: string[] = [];
  let at = 0;
  const lines = diff.split('\n').slice(2, -1);
  for (const [index, line] of lines.entries()) {
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+/.exec(line);
    if (hunk) {
      const start = Number(hunk[1]) - (hunk[2] === '0' ? 0 : 1);
      while (at < start) result.push(old[at++] ?? '');
    } else if (!line.startsWith('\\')) {
      const text = line.slice(1) + (lines[index + 1]?.startsWith('\\') ? '' : '\n');
      if (!line.startsWith('+')) expect(text).toBe(old[at++]);
      if (!line.startsWith('-')) result.push(text);
    }
  }
  return [...result, ...old.slice(at)].join('');
}

const text = fc
  .tuple(fc.array(fc.constantFrom('a', 'b', 'c', '', '-', '+x', '@@ -1 +1 @@'), { maxLength: 40 }), fc.boolean())
  .map(([lines, ended]) => lines.join('\n') + (ended && lines.length > 0 ? '\n' : ''));

/** The length of the longest common subsequence of lines, by brute force. */
function mostCommon(before: string, after: string): number {
  const [a, b] = [linesOf(before), linesOf(after)];
  let row = new Array<number>(b.length + 1).fill(0);
  for (const line of a) {
    const next = [0];
    for (const [at, other] of b.entries()) {
      next.push(line === other ? (row[at] ?? 0) + 1 : Math.max(row[at + 1] ?? 0, next[at] ?? 0));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

describe('a diff of two texts', () => {
  it('is empty when nothing differs', () => {
    expect(compared('a\nb\n', 'a\nb\n')).toEqual({ added: 0, removed: 0, text: '' });
  });

  it('shows three lines of context, and joins close changes', () => {
    const before = Array.from({ length: 30 }, (_, at) => `line ${at + 1}`);
    const after = before.with(4, 'five').with(9, 'ten').with(25, 'twenty-six');
    expect(compared(`${before.join('\n')}\n`, `${after.join('\n')}\n`).text).toBe(
      `--- a/file\n+++ b/file\n@@ -2,12 +2,12 @@\n line 2\n line 3\n line 4\n-line 5\n+five\n line 6\n line 7\n line 8\n line 9
-line 10\n+ten\n line 11\n line 12\n line 13\n@@ -23,7 +23,7 @@\n line 23\n line 24\n line 25\n-line 26\n+twenty-six
 line 27\n line 28\n line 29\n`,
    );
  });

  it('distinguishes a new file from one that became empty', () => {
    expect(textDiff('', 'a\n', null, 'b/x').text).toBe('--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+a\n');
    expect(textDiff('a\n', '', 'a/x', 'b/x').text).toBe('--- a/x\n+++ b/x\n@@ -1,1 +0,0 @@\n-a\n');
  });

  it('turns the first text into the second when applied, and is as short as possible', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        const { text: diff, added, removed } = compared(before, after);
        expect(diff === '' ? before : applied(before, diff)).toBe(after);
        const [old, now] = [linesOf(before).length, linesOf(after).length];
        const common = mostCommon(before, after);
        expect([removed, added]).toEqual([old - common, now - common]);
      }),
      { numRuns: 500 },
    );
  });

  it('stops searching for the shortest diff when the texts have nothing in common, and is still correct', () => {
    const before = Array.from({ length: 3000 }, (_, at) => `old ${at}\n`).join('');
    const after = Array.from({ length: 3000 }, (_, at) => `new ${at}\n`).join('');
    const { text: diff, added, removed } = compared(before, after);
    expect([added, removed]).toEqual([3000, 3000]);
    expect(applied(before, diff)).toBe(after);
  });

  it('is accepted by patch', () => {
    needPackages(['patch']);
    const folder = mkdtempSync(join(tmpdir(), 'coldiron-diff-'));
    try {
      const file = join(folder, 'file');
      for (const [before, after] of fc.sample(fc.tuple(text, text), 25)) {
        const diff = compared(before, after).text;
        if (before === '' || after === '' || diff === '') continue;
        writeFileSync(file, before);
        const run = spawnSync('/usr/bin/patch', ['--strip=1', '--directory', folder], {
          input: diff,
          encoding: 'utf8',
        });
        expect(run.status, run.stdout + run.stderr + diff).toBe(0);
        expect(readFileSync(file, 'utf8')).toBe(after);
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
