// Client programs that all start at the same moment. Each waits in a shell for a line, so that their work is measured
// and not their start.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { RackNetwork } from '../../appliance/lab/rack/network.ts';

export interface ClientWork {
  readonly network: RackNetwork;
  readonly program: readonly [string, ...string[]];
  /** How often it runs, one after the other. */
  readonly times: number;
}

const WAIT_THEN_REPEAT = `
  times=$1; shift
  echo ready; read -r _ || exit
  while [ "$times" -gt 0 ]; do "$@" || exit; times=$((times - 1)); done`;

class WaitingClient {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly ready: Promise<unknown>;
  readonly #name: string;
  readonly #closed: Promise<unknown>;

  constructor({ network, program, times }: ClientWork) {
    this.#name = program[0];
    const shell = ['sh', '-c', WAIT_THEN_REPEAT, 'sh', String(times), ...program] as const;
    const [command, ...args] = network.command(...shell);
    this.child = spawn(command, args, { stdio: 'pipe' });
    this.child.stdout?.on('data', (text) => {
      this.stdout += text;
    });
    this.child.stderr?.on('data', (text) => {
      this.stderr += text;
    });
    // One that has already ended cannot be started; `finish` reports why it ended.
    this.child.stdin?.on('error', () => undefined);
    this.#closed = once(this.child, 'close');
    this.ready = Promise.race([once(this.child.stdout as NodeJS.ReadableStream, 'data'), this.#closed]);
  }

  go(): void {
    this.child.stdin?.end('\n');
  }

  async finish(): Promise<string> {
    await this.#closed;
    const { exitCode, signalCode } = this.child;
    if (exitCode === 0) return this.stdout.replace(/^ready\n/, '');
    throw new Error(`${this.#name} ended with ${signalCode ?? exitCode}: ${this.stderr}`);
  }
}

/** Seconds until the last one has finished, and the output of each. Rejects when one of them fails. */
export async function allAtOnce(
  works: readonly ClientWork[],
): Promise<{ readonly seconds: number; readonly printed: readonly string[] }> {
  const clients = works.map((work) => new WaitingClient(work));
  try {
    await Promise.all(clients.map(({ ready }) => ready));
    const began = performance.now();
    for (const client of clients) client.go();
    const printed = await Promise.all(clients.map((client) => client.finish()));
    return { seconds: (performance.now() - began) / 1000, printed };
  } finally {
    for (const { child } of clients) child.kill('SIGKILL');
  }
}
