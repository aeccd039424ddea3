// A real `coldiron serve` in its own process, and the CLI as a user runs it.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { Running } from '../interop/namespaces.ts';

export const ROOT = join(import.meta.dirname, '../..');
const COLDIRON = join(ROOT, 'coldiron');

/** setpriv(1): ends with the test process that started it, however that one ends. */
export const endingWithUs = (program: string, args: readonly string[]): [program: string, args: string[]] => [
  'setpriv',
  ['--pdeathsig', 'KILL', program, ...args],
];

export interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function coldiron(args: readonly string[], options: { cwd?: string; env?: Record<string, string> } = {}): Run {
  const { status, stdout, stderr } = spawnSync(...endingWithUs(COLDIRON, args), {
    cwd: options.cwd ?? ROOT,
    encoding: 'utf8',
    env: { ...process.env, NO_COLOR: undefined, ...options.env },
    input: '',
  });
  return { status, stdout, stderr };
}

/** A folder with a site file that listens on free loopback ports. Removed by `remove`. */
export class SiteFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'coldiron-'));
  readonly state = join(this.path, 'state');

  constructor(siteFile: string) {
    writeFileSync(join(this.path, 'coldiron.yaml'), siteFile);
  }

  write(name: string, text: string): string {
    const file = join(this.path, name);
    writeFileSync(file, text);
    return file;
  }

  read(name: string): string {
    return readFileSync(join(this.path, name), 'utf8');
  }

  run(...args: string[]): Run {
    return coldiron(args, { cwd: this.path });
  }

  /** Runs concurrently with the test. */
  start(...args: string[]): RunningCommand {
    return new RunningCommand(this.path, args);
  }

  remove(): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

/** A running command. It ends by itself, with the appliance that it talks to, or with the test file. */
export class RunningCommand {
  readonly #running: Running;

  constructor(folder: string, args: readonly string[]) {
    const [program, all] = endingWithUs(COLDIRON, args);
    this.#running = new Running(spawn(program, all, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  /** Its output so far, on both streams. */
  get text(): string {
    return this.#running.output;
  }

  async says(words: RegExp): Promise<void> {
    await this.#running.says(words);
  }

  /** Its exit code. */
  async ended(): Promise<number | null> {
    return (await this.#running.finished()).status;
  }
}

export const LOOPBACK_SITE = 'listen:\n  boot: 127.0.0.1:0\n  management: 127.0.0.1:0\n';

export class ServingProcess {
  readonly child: ChildProcess;
  stdout = '';
  stderr = '';

  constructor(folder: string, env: Record<string, string> = {}) {
    this.child = spawn(...endingWithUs(COLDIRON, ['serve']), {
      cwd: folder,
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => {
      this.stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      this.stderr += chunk;
    });
  }

  /** The URL that was printed for `boot` or `management`. */
  where(what: string): string {
    const line = this.stdout.split('\n').find((text) => text.startsWith(what.padEnd(12)));
    if (!line) throw new Error(`nothing was printed for ${what}: ${this.stdout}`);
    return line.slice(12);
  }

  /** Ends a process that does not start: the caller has no reference to it yet. */
  async up(patienceMs = 60_000): Promise<this> {
    const impatience = setTimeout(() => this.child.kill('SIGKILL'), patienceMs);
    try {
      while (!this.stdout.includes('Coldiron is up')) {
        if (this.child.exitCode !== null || this.child.signalCode !== null)
          throw new Error(`serve ended: ${this.stdout}${this.stderr}`);
        await Promise.race([once(this.child.stdout as NodeJS.ReadableStream, 'data'), once(this.child, 'exit')]);
      }
      // Output on its other stream is already in the pipe: it is read within two turns of the event loop.
      for (let turn = 0; turn < 2; turn += 1) await setImmediate();
      return this;
    } finally {
      clearTimeout(impatience);
    }
  }

  async end(signal: NodeJS.Signals): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, 'exit');
      this.child.kill(signal);
      await exited;
    }
    return { code: this.child.exitCode, signal: this.child.signalCode };
  }
}
