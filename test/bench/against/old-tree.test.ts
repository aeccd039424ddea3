// A small repository of its own: which revisions are refused, what the other tree holds, and that nothing of it stays.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { hasFile, OldTree, refuseUncommitted, resolveCommit, shortName } from './old-tree.ts';

let folder = '';
let root = '';
let disk = '';
const said: string[] = [];

const git = (...args: string[]): string =>
  execFileSync('git', ['-C', root, '-c', 'user.name=Ada', '-c', 'user.email=ada@bench.example', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim();
const put = (name: string, text: string): void => {
  mkdirSync(join(root, name, '..'), { recursive: true });
  writeFileSync(join(root, name), text);
};
const commit = (): string => {
  git('add', '-A');
  git('commit', '-q', '-m', 'x');
  return git('rev-parse', 'HEAD');
};

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-old-tree-'));
  root = join(folder, 'root');
  disk = join(folder, 'disk');
  mkdirSync(root);
  mkdirSync(disk);
  git('init', '-q');
  put('.gitignore', 'node_modules\n');
  put('package-lock.json', '{"lock": 1}');
  put('test/bench/idle.ts', 'old');
  said.length = 0;
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the revision', () => {
  test('is resolved by any name that git knows', () => {
    const first = commit();
    git('tag', 'v1');
    put('test/bench/idle.ts', 'new');
    commit();
    for (const rev of ['v1', 'HEAD~1', first.slice(0, 8)]) expect(resolveCommit(root, rev)).toBe(first);
    expect(first).toMatch(new RegExp(`^${shortName(root, first)}`));
  });

  test.each(['nothing', '--help', 'HEAD~9', 'HEAD:test'])('%s is refused', (rev) => {
    commit();
    expect(() => resolveCommit(root, rev)).toThrow(`--against: this repository has no commit "${rev}"`);
  });

  test('needs a repository', () => {
    expect(() => resolveCommit(disk, 'HEAD')).toThrow('--against needs the git repository of this tree');
  });

  test('may not have a benchmark yet', () => {
    const first = commit();
    expect(hasFile(root, first, 'test/bench/idle.ts')).toBe(true);
    expect(hasFile(root, first, 'test/bench/fuzz.ts')).toBe(false);
  });
});

describe('uncommitted changes', () => {
  test('are named, the first of them', () => {
    commit();
    expect(() => refuseUncommitted(root)).not.toThrow();
    put('test/bench/idle.ts', 'new');
    expect(() => refuseUncommitted(root)).toThrow('there are uncommitted changes: test/bench/idle.ts. Commit them');
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) put(name, '');
    expect(() => refuseUncommitted(root)).toThrow('a, b, c, d and 2 more');
  });
});

describe('the other tree', () => {
  const checkOut = (rev: string): OldTree => OldTree.checkOut(root, rev, (line) => said.push(line), disk);

  test('holds the files of its commit and the same packages as links', () => {
    const first = commit();
    put('test/bench/idle.ts', 'new');
    commit();
    put('node_modules/.bin/node', 'program');
    put('node_modules/.cache/coldiron/x', 'compiled');
    const tree = checkOut(first);
    expect(readFileSync(join(tree.path, 'test/bench/idle.ts'), 'utf8')).toBe('old');
    const [here, there] = [root, tree.path].map((each) => statSync(join(each, 'node_modules/.bin/node')).ino);
    expect(there).toBe(here);
    expect(existsSync(join(tree.path, 'node_modules/.cache'))).toBe(false);
    expect(existsSync(join(root, 'node_modules/.cache/coldiron/x'))).toBe(true);
    expect(said).toEqual(['the packages are the same: they are linked']);
    tree.remove();
    tree.remove();
    expect(readdirSync(disk)).toEqual([]);
    expect(git('worktree', 'list').split('\n')).toHaveLength(1);
    expect(readFileSync(join(root, 'node_modules/.bin/node'), 'utf8')).toBe('program');
  });

  test('installs its own packages when its lock file is another', () => {
    put('.ci/install', 'mkdir node_modules; cp package-lock.json node_modules/installed\n');
    const first = commit();
    put('package-lock.json', '{"lock": 2}');
    commit();
    put('node_modules/.bin/node', 'program');
    const tree = checkOut(first);
    expect(readFileSync(join(tree.path, 'node_modules/installed'), 'utf8')).toBe('{"lock": 1}');
    expect(said).toEqual(['the packages differ: they are installed']);
    tree.remove();
    expect(readdirSync(disk)).toEqual([]);
  });

  test('is removed when its packages cannot be installed, and the reason is said', () => {
    put('.ci/install', 'echo "the registry does not answer" >&2; exit 1\n');
    const first = commit();
    put('package-lock.json', '{"lock": 2}');
    commit();
    expect(() => checkOut(first)).toThrow('cannot be set up: the registry does not answer');
    expect(readdirSync(disk)).toEqual([]);
    expect(git('worktree', 'list').split('\n')).toHaveLength(1);
  });
});
