// A long-running program in the rack's network, with its output.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { ColdironError } from '../../domain/errors.ts';
import { Changes } from '../rack/changes.ts';
import type { RackNetwork } from '../rack/network.ts';

const LINES_KEPT = 200;
const KILL_AFTER_MS = 10_000;

export class NetworkProgram {
  readonly #child: ChildProcess;
  readonly #name: string;
  readonly #changes = new Changes();
  readonly #over: Promise<unknown>;
  #lines: string[] = [];
  #isOver = false;

  /** `onLine`: called with each line of output. */
  constructor(
    network: RackNetwork,
    program: readonly [string, ...string[]],
    onLine: (line: string) => void = () => {},
  ) {
    const [command, ...args] = network.command(...program);
    this.#name = program[0];
    this.#child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (!stream) continue;
      createInterface({ input: stream }).on('line', (line) => {
        this.#lines = [...this.#lines.slice(1 - LINES_KEPT), line];
        onLine(line);
        this.#changes.happened();
      });
    }
    this.#over = once(this.#child, 'close')
      .catch((error: Error) => this.#lines.push(error.message))
      .finally(() => {
        this.#isOver = true;
        this.#changes.happened();
      });
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Settles when the program has exited, for whatever reason. */
  get over(): Promise<unknown> {
    return this.#over;
  }

  /** Waits for a line of output. `service_unavailable` with its last lines when the program exits or the time is up first. */
  async waitForLine(pattern: RegExp, milliseconds: number): Promise<void> {
    const deadline = performance.now() + milliseconds;
    while (!this.#lines.some((line) => pattern.test(line))) {
      const left = deadline - performance.now();
      if (this.#isOver || left <= 0) {
        const how = this.#isOver ? 'exited' : `was not ready within ${milliseconds / 1000} s`;
        throw new ColdironError('service_unavailable', `${this.#name} ${how}`, this.#lines.slice(-10));
      }
      await this.#changes.next(left);
    }
  }

  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    this.#child.kill(signal);
    const killTimer = setTimeout(() => this.#child.kill('SIGKILL'), KILL_AFTER_MS);
    await this.#over;
    clearTimeout(killTimer);
  }
}
