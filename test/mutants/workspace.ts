// A copy of the tree where faults are inserted and tests run, so that the tree itself never changes.

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Mutant, withFault } from './mutant.ts';
import type { Result, TestReport, TestRun } from './verdict.ts';
import { verdictOf } from './verdict.ts';

const ROOT = join(import.meta.dirname, '../..');
/** The report file of test/vitest.config.ts. */
const REPORT = '.ci/report.json';

export class Workspace {
  readonly #folder = mkdtempSync(join(tmpdir(), 'coldiron-mutants-'));
  readonly #limitMs: number;
  #running: ChildProcess | null = null;

  /** `limitMs`: how long the tests of one fault may take. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
    // Copies the files on disk, including uncommitted changes.
    const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: ROOT });
    for (const name of listed.toString().split('\0')) {
      const from = join(ROOT, name);
      if (name === '' || !existsSync(from)) continue;
      mkdirSync(dirname(join(this.#folder, name)), { recursive: true });
      copyFileSync(from, join(this.#folder, name));
    }
    symlinkSync(realpathSync(join(ROOT, 'node_modules')), join(this.#folder, 'node_modules'));
  }

  async check(mutant: Mutant): Promise<Result> {
    const file = join(this.#folder, mutant.file);
    const original = existsSync(file) ? readFileSync(file, 'utf8') : '';
    const faulty = withFault(original, mutant);
    if (faulty === null) {
      return { mutant, verdict: 'does not apply', detail: `the source text is not in ${mutant.file} exactly once` };
    }
    writeFileSync(file, faulty);
    try {
      return { mutant, ...verdictOf(await this.run(mutant.tests, mutant.titled)) };
    } finally {
      writeFileSync(file, original);
    }
  }

  async run(tests: readonly string[], titled?: string, limitMs = this.#limitMs): Promise<TestRun> {
    const report = join(this.#folder, REPORT);
    rmSync(report, { force: true });
    const child = spawn(
      process.execPath,
      [
        'node_modules/vitest/vitest.mjs',
        ...['run', '--config', 'test/vitest.config.ts', '--bail', '1'],
        ...(titled === undefined ? [] : ['--testNamePattern', titled.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')]),
        ...tests,
      ],
      // Its own process group, so that processes started by the tests end with them.
      { cwd: this.#folder, detached: true, stdio: 'ignore' },
    );
    this.#running = child;
    let timedOut = false;
    const limit = setTimeout(() => {
      timedOut = true;
      this.#end();
    }, limitMs);
    await once(child, 'close');
    clearTimeout(limit);
    this.#running = null;
    return { timedOut, report: existsSync(report) ? (JSON.parse(readFileSync(report, 'utf8')) as TestReport) : null };
  }

  remove(): void {
    this.#end();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #end(): void {
    const pid = this.#running?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has already exited.
    }
  }
}
