// Network namespaces for peers that use real sockets: created for one test, and removed afterwards with all
// their processes. Needs root.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { removeNamespace, startOf } from '../../appliance/lab/rack/leftovers.ts';

const FOLDER = '/run/netns';
/** Less than a test's timeout: its failure then says what it waited for, and what was printed instead. */
const PATIENCE_MS = 100_000;
/** Separates tests that run in parallel. A process id alone would be reused. */
const OWN = `coldiron-test-${process.pid}-${await startOf(process.pid)}-`;

export interface Finished {
  readonly status: number | null;
  readonly output: string;
}

interface End {
  readonly namespace: string;
  readonly device: string;
  /** With prefix length; absent: it gets one by DHCP, or none. */
  readonly address?: string;
  /** It exists, and is down. */
  readonly isDown?: boolean;
}

export class Running {
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  readonly #waiting = new Set<() => void>();
  /** It has ended, and all of its output is in `output`. */
  #isOver = false;
  output = '';

  constructor(child: ChildProcess) {
    this.#child = child;
    const wake = (): void => {
      for (const waiting of [...this.#waiting]) waiting();
    };
    this.#ended = once(child, 'close').then(() => {
      this.#isOver = true;
      wake();
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on('data', (chunk) => {
        this.output += chunk;
        wake();
      });
    }
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves with the match when its output matches; rejects when it ends without. */
  async says(pattern: RegExp): Promise<RegExpMatchArray> {
    return await this.until((output) => output.match(pattern), `${pattern}`);
  }

  /** Resolves with what `find` finds in its output; rejects when it ends before, or on timeout. */
  async until<T>(find: (output: string) => T | null, what: string): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      const found = find(this.output);
      if (found !== null) return found;
      if (this.#isOver) throw new Error(`it ended and never said ${what}:\n${this.output}`);
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`it still runs and never said ${what}:\n${this.output}`);
      await new Promise<void>((resolve) => {
        const waiting = (): void => {
          this.#waiting.delete(waiting);
          clearTimeout(timer);
          resolve();
        };
        const timer = setTimeout(waiting, left);
        this.#waiting.add(waiting);
      });
    }
  }

  async finished(): Promise<Finished> {
    await this.#ended;
    return { status: this.#child.exitCode, output: this.output };
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Finished> {
    if (this.isRunning) this.#child.kill(signal);
    return await this.finished();
  }
}

export class Namespaces {
  readonly #names = new Map<string, string>();
  readonly #running: Running[] = [];

  constructor() {
    if (process.getuid?.() !== 0) throw new Error('this test makes network namespaces, and that needs root');
  }

  add(...names: readonly string[]): void {
    for (const name of names) {
      const system = `${OWN}${name}`;
      ip('netns', 'add', system);
      this.#names.set(name, system);
      ip('-n', system, 'link', 'set', 'lo', 'up');
    }
  }

  /** A cable between two namespaces. */
  connect(a: End, b: End): void {
    const [left, right] = [this.#name(a.namespace), this.#name(b.namespace)];
    ip('link', 'add', a.device, 'netns', left, 'type', 'veth', 'peer', 'name', b.device, 'netns', right);
    for (const end of [a, b]) {
      if (end.address) this.ip(end.namespace, 'address', 'add', end.address, 'dev', end.device);
      if (!end.isDown) this.ip(end.namespace, 'link', 'set', 'dev', end.device, 'up');
    }
    if (a.isDown || b.isDown) return;
    for (const { namespace, device } of [a, b]) waitUntilUp(this.#name(namespace), device);
  }

  /** A switch in a separate namespace, with a cable to each of the others. */
  switch(name: string, ...ends: readonly End[]): void {
    this.add(name);
    this.ip(name, 'link', 'add', 'switch0', 'type', 'bridge', 'stp_state', '0', 'forward_delay', '0');
    this.ip(name, 'link', 'set', 'switch0', 'up');
    for (const [index, end] of ends.entries()) {
      this.connect({ namespace: name, device: `port${index}` }, end);
      this.ip(name, 'link', 'set', `port${index}`, 'master', 'switch0');
    }
  }

  ip(namespace: string, ...args: readonly string[]): void {
    ip('-n', this.#name(namespace), ...args);
  }

  /** Wraps a program to run in a namespace. */
  command(namespace: string, program: string, ...args: readonly string[]): readonly [string, ...string[]] {
    return ['ip', 'netns', 'exec', this.#name(namespace), program, ...args];
  }

  /** Starts a program in a namespace; `remove` ends it at the latest. */
  start(namespace: string, program: string, ...args: readonly string[]): Running {
    const [command, ...rest] = this.command(namespace, program, ...args);
    const running = new Running(spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] }));
    this.#running.push(running);
    return running;
  }

  /** Runs a program in a namespace to completion. */
  run(namespace: string, program: string, ...args: readonly string[]): Promise<Finished> {
    return this.start(namespace, program, ...args).finished();
  }

  async remove(): Promise<void> {
    await Promise.all(this.#running.map((running) => running.stop('SIGKILL')));
    for (const system of this.#names.values()) ip('netns', 'delete', system);
    this.#names.clear();
    await sweepLeftovers();
  }

  #name(name: string): string {
    const system = this.#names.get(name);
    if (system === undefined) throw new Error(`no namespace is called ${name}`);
    return system;
  }
}

/** Removes what killed tests have left, with all its processes. */
export async function sweepLeftovers(): Promise<void> {
  for (const name of readdirSync(FOLDER)) {
    const [, pid = '', start = ''] = /^coldiron-test-(\d+)-(\d+)-/.exec(name) ?? [];
    if (pid === '' || (await startOf(Number(pid))) === start) continue;
    await removeNamespace(name);
  }
}

/** The kernel starts to forward a moment after a cable is plugged in, later on a busy machine, and drops everything until then. */
function waitUntilUp(namespace: string, device: string): void {
  const deadline = Date.now() + PATIENCE_MS;
  while (!/ state UP /.test(ip('-n', namespace, '-o', 'link', 'show', 'dev', device))) {
    if (Date.now() > deadline) throw new Error(`the link of ${device} does not come up`);
  }
}

function ip(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`);
  return stdout;
}
