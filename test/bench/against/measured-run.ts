// One run of one benchmark in one tree, in a process of its own.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CpuMeter, isOurs } from './cpu-meter.ts';
import { BenchError } from './old-tree.ts';
import type { AskedBench } from './read-options.ts';

/** After a request to end: it removes namespaces and folders. */
const PATIENCE_MS = 30_000;
const LAST_LINES = 20;

export interface BenchRun {
  readonly output: string;
  /** Of our own processes. */
  readonly cpuSeconds: number;
  readonly seconds: number;
  /** Why its output does not count, or null. */
  readonly failure: string | null;
}

export class BenchProcess {
  #child: ChildProcess | null = null;
  #isEnded = false;

  get isEnded(): boolean {
    return this.#isEnded;
  }

  async run(tree: string, { name, count }: AskedBench): Promise<BenchRun> {
    if (this.#isEnded) throw new BenchError('interrupted');
    const own = join(tree, 'node_modules/.bin/node');
    const program = existsSync(own) ? own : process.execPath;
    const word = count === null ? name : `${name}=${count}`;
    // Its own process group, so that it can be ended with everything that it started.
    const child = spawn(program, ['test/bench/run.ts', word], {
      cwd: tree,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    let [output, errors] = ['', ''];
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const began = performance.now();
    const closed = once(child, 'close');
    const meter = child.pid === undefined ? null : meterOf(child.pid, name, tree);
    let cpuSeconds = Number.NaN;
    try {
      await closed;
    } finally {
      cpuSeconds = meter?.stop() ?? Number.NaN;
      this.#child = null;
    }
    if (this.#isEnded) throw new BenchError('interrupted');
    const seconds = (performance.now() - began) / 1000;
    const { exitCode, signalCode } = child;
    const last = `${output}${errors}`.trim().split('\n').slice(-LAST_LINES).join('\n');
    return {
      output,
      cpuSeconds,
      seconds,
      failure: exitCode === 0 ? null : `ended with ${signalCode ?? exitCode}:\n${last}`,
    };
  }

  /** Ends the run that is under way, with everything that it started; no other one is started. */
  async end(): Promise<void> {
    this.#isEnded = true;
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    const group = child.pid;
    const impatience = setTimeout(() => process.kill(-group, 'SIGKILL'), PATIENCE_MS);
    await closed;
    clearTimeout(impatience);
  }
}

const meterOf = (bench: number, name: string, tree: string): CpuMeter =>
  new CpuMeter(bench, (pid, command) => isOurs(name, tree, pid === bench, command));
