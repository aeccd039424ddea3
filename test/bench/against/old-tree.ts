// The tree of another commit beside this one, with its own packages: a git worktree in a temporary folder.

import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** On a disk, as this tree: the folder for temporary files may be in memory, where no hard link can lead. */
const DISK = '/var/tmp';

/** The message is for the person who called. */
export class BenchError extends Error {}

const git = (root: string, ...args: readonly string[]): string =>
  execFileSync('git', ['-C', root, ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

/** The full id of the commit that `rev` names. */
export function resolveCommit(root: string, rev: string): string {
  try {
    git(root, 'rev-parse', '--git-dir');
  } catch {
    throw new BenchError(`--against needs the git repository of this tree, and ${root} has none`);
  }
  try {
    return git(root, 'rev-parse', '--verify', '--quiet', '--end-of-options', `${rev}^{commit}`).trim();
  } catch {
    throw new BenchError(`--against: this repository has no commit "${rev}"`);
  }
}

export const shortName = (root: string, commit: string): string => git(root, 'rev-parse', '--short', commit).trim();

/** Changed and new files that are in no commit. */
export const uncommitted = (root: string): string[] =>
  git(root, 'status', '--porcelain', '-z', '--no-renames')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.slice(3));

export function refuseUncommitted(root: string): void {
  const files = uncommitted(root);
  if (files.length === 0) return;
  const [named, others] = [files.slice(0, 5), files.length - 5];
  throw new BenchError(
    `there are uncommitted changes: ${named.join(', ')}${others > 0 ? ` and ${others} more` : ''}. ` +
      'Commit them, or measure them with --dirty',
  );
}

export function hasFile(root: string, commit: string, path: string): boolean {
  try {
    git(root, 'cat-file', '-e', `${commit}:${path}`);
    return true;
  } catch {
    return false;
  }
}

export class OldTree {
  /** Removed with everything in it. */
  readonly #folder: string;
  readonly path: string;
  readonly #root: string;

  private constructor(root: string, folder: string) {
    this.#root = root;
    this.#folder = folder;
    this.path = join(folder, 'tree');
  }

  /** `say`: progress, for a person who waits. */
  static checkOut(root: string, commit: string, say: (line: string) => void, disk: string = DISK): OldTree {
    const tree = new OldTree(root, mkdtempSync(join(disk, 'coldiron-bench-against-')));
    try {
      git(root, 'worktree', 'add', '--detach', '--quiet', tree.path, commit);
      tree.#install(say);
      return tree;
    } catch (error) {
      tree.remove();
      throw error instanceof BenchError ? error : new BenchError(`${commit} cannot be set up: ${reasonOf(error)}`);
    }
  }

  /** Also after a failure half-way; twice does nothing. */
  remove(): void {
    if (!existsSync(this.#folder)) return;
    try {
      git(this.#root, 'worktree', 'remove', '--force', this.path);
    } catch {
      // It was not added, or is already gone.
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #install(say: (line: string) => void): void {
    const lock = (tree: string): string | null => orNull(() => readFileSync(join(tree, 'package-lock.json'), 'utf8'));
    const from = join(this.#root, 'node_modules');
    if (lock(this.path) === lock(this.#root) && existsSync(from)) {
      say('the packages are the same: they are linked');
      execFileSync('cp', ['-al', from, join(this.path, 'node_modules')], { stdio: 'pipe' });
      // Code that this tree compiled; each tree has its own.
      rmSync(join(this.path, 'node_modules/.cache'), { recursive: true, force: true });
      return;
    }
    say('the packages differ: they are installed');
    const script = join(this.path, '.ci/install');
    const [command, ...args] = existsSync(script)
      ? ['sh', script]
      : ['npm', 'install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync(command as string, args, {
      cwd: this.path,
      stdio: 'pipe',
      env: withoutNpm(dirname(process.execPath)),
    });
  }
}

/** npm gives its programs settings of the package that it runs; another tree has others. */
const withoutNpm = (nodeFolder: string): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_(?:package|lifecycle)_/.test(name))),
  PATH: `${nodeFolder}:${process.env.PATH ?? ''}`,
});

function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

function reasonOf(error: unknown): string {
  const { stderr, message } = error as { stderr?: Buffer | string; message: string };
  return String(stderr ?? '').trim() || message;
}
