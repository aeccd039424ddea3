// A program that runs in the network of a rack for as long as a test needs it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Changes } from '../../../appliance/lab/rack/changes.ts';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';

export class RackProcess {
  readonly lines: string[] = [];
  readonly #name: string;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #hasEnded = false;
  readonly #changes = new Changes();

  constructor(network: RackNetwork, program: readonly [string, ...string[]], options: { cwd?: string } = {}) {
    this.#name = program[0];
    const [command, ...args] = network.command(...program);
    this.#child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.#onLine(line));
    }
    this.#ended = once(this.#child, 'close')
      .catch((error: Error) => this.lines.push(error.message))
      .finally(() => {
        this.#hasEnded = true;
        this.#changes.happened();
      });
  }

  get pid(): number {
    return this.#child.pid ?? Number.NaN;
  }

  /** The first matching line, printed already or later. */
  async line(matches: (line: string) => boolean, milliseconds: number): Promise<string> {
    const deadline = performance.now() + milliseconds;
    for (;;) {
      const found = this.lines.find(matches);
      if (found !== undefined) return found;
      if (this.#hasEnded) throw new Error(`${this.#name} ended:\n${this.lines.slice(-20).join('\n')}`);
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`${this.#name} did not print it within ${milliseconds} ms: ${matches}`);
      await this.#changes.next(left);
    }
  }

  async end(): Promise<void> {
    this.#child.kill('SIGTERM');
    const impatience = setTimeout(() => this.#child.kill('SIGKILL'), 10_000);
    await this.#ended;
    clearTimeout(impatience);
  }

  #onLine(line: string): void {
    this.lines.push(line);
    this.#changes.happened();
  }
}
