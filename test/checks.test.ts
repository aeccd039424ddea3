// Runs the type check, the linter and the dead code check as tests, so that none of them is skipped.

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { needPackages } from './interop/packages.ts';

const ROOT = join(import.meta.dirname, '..');
/** Each reads the whole code base, while virtual machines boot. */
const LONG = { timeout: 600_000 };

/** Patterns are composed, so that this file does not contain what it forbids. */
const domain = (...labels: readonly string[]): string => labels.join('\\.');
const folder = (name: string): string => `/${name}/`;
const word = (...pieces: readonly string[]): string => pieces.join('');
const oneOf = (...patterns: readonly string[]): RegExp => new RegExp(patterns.join('|'), 'i');

const ISSUE = word('iss', 'ue');

/** References to the place of development. */
const FORBIDDEN: Readonly<Record<string, RegExp>> = {
  'a package registry': oneOf(
    domain('npmjs', '(?:org|com)'),
    domain('yarnpkg', 'com'),
    domain('npmmirror', 'com'),
    domain('(?:deb|ftp|security|snapshot|cloud|cdimage|archive)(?:\\.\\w+)?', 'debian', 'org'),
    domain('(?:archive|security|ports|releases|cloud-images)', 'ubuntu', 'com'),
    domain('pypi', 'org'),
    domain('pythonhosted', 'org'),
    domain('crates', 'io'),
    domain('(?:cache|channels|releases|tarballs)', 'nixos', 'org'),
    domain('cachix', 'org'),
  ),
  // Installed machines also have a root user, with SSH keys and one-time scripts.
  'a path of one machine': oneOf(
    folder('work'),
    `(?<![\\w.-])${folder('root')}(?!\\.ssh|coldiron-)`,
    `(?<![\\w.-])${folder('home')}(?!operator\\b)`,
  ),
  'the number of an issue': oneOf(
    `\\b(?:${ISSUE}|bug|ticket|pull request|merge request)s? *#? *\\d`,
    `/(?:${ISSUE}s|pull|merge_requests)/\\d`,
    '\\(#\\d+\\)',
    '\\b(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?|see) +#\\d',
    '\\bGH-\\d',
  ),
  'a session of work': oneOf(...['working', 'coding', 'helper'].map((kind) => word(kind, ' ses', 'sion'))),
};

function run(tool: string, args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(join(ROOT, 'node_modules/.bin', tool), args, {
    cwd: ROOT,
    encoding: 'utf8',
  });
  return { status, output: `${stdout}${stderr}` };
}

describe('the code base', () => {
  it('has no type errors', LONG, () => {
    expect(run('tsc', ['--noEmit'])).toEqual({ status: 0, output: '' });
  });

  it('has no type errors in the web page, which runs in browsers', LONG, () => {
    expect(run('tsc', ['--noEmit', '-p', 'appliance/web/page'])).toEqual({ status: 0, output: '' });
  });

  it('passes the linter and is formatted', LONG, () => {
    const { status, output } = run('biome', ['ci', '--error-on-warnings', '.']);
    expect(status, output).toBe(0);
  });

  it('has no dead code and no unused or unlisted dependency', LONG, () => {
    const { status, output } = run('knip', ['--no-progress']);
    expect(status, output).toBe(0);
  });

  it('contains no registry host, no local path, no issue number and no session', () => {
    needPackages(['git']);
    const { status, stdout, stderr } = spawnSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    const files = stdout.split('\0').filter((name) => name !== '' && existsSync(join(ROOT, name)));
    expect(files.length).toBeGreaterThan(1000);
    const found = files.flatMap((name) => {
      const text = readFileSync(join(ROOT, name), 'latin1');
      // Captured frames are not text.
      if (text.includes('\0')) return [];
      return text.split('\n').flatMap((line, at) =>
        Object.entries(FORBIDDEN)
          .filter(([, pattern]) => pattern.test(line))
          .map(([what]) => `${name}:${at + 1} names ${what}: ${line.trim().slice(0, 120)}`),
      );
    });
    expect(found).toEqual([]);
  });

  it('names no package registry in its lock file', () => {
    const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
    const resolved = Object.entries<{ resolved?: string }>(lock.packages).filter(([, entry]) => entry.resolved);
    expect(resolved.map(([name]) => name)).toEqual([]);
  });
});
