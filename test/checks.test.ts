// Types, lint and dead code are tests like the others: counted, and none of them can be left out.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '..');

function run(tool: string, args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin', tool), args, {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, output: `${stdout}${stderr}` };
}

describe('the code base', () => {
  it('has no type errors', { timeout: 120_000 }, () => {
    expect(run('tsc', ['--noEmit'])).toEqual({ status: 0, output: '' });
  });

  it('passes the linter and is formatted', { timeout: 120_000 }, () => {
    const { status, output } = run('biome', ['ci', '--error-on-warnings', '.']);
    expect(status, output).toBe(0);
  });

  it('has no dead code and no unused or unlisted dependency', { timeout: 120_000 }, () => {
    const { status, output } = run('knip', ['--no-progress']);
    expect(status, output).toBe(0);
  });

  it('names no package registry in its lock file', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const resolved = Object.entries<{ resolved?: string }>(lock.packages).filter(([, entry]) => entry.resolved);
    expect(resolved.map(([name]) => name)).toEqual([]);
  });
});
