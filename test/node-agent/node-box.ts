// A node in a box (node-box.sh): commands run in it as root would type them, with the real agent and a stand-in for systemd.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { endingWithUs } from '../process/appliance.ts';

export class NodeBox {
  readonly #child: ChildProcess;
  readonly #inside: string;

  private constructor(child: ChildProcess, inside: string) {
    this.#child = child;
    this.#inside = inside;
  }

  static async open(): Promise<NodeBox> {
    const script = join(import.meta.dirname, 'node-box.sh');
    const options = ['--mount', '--pid', '--fork', '--kill-child', '--mount-proc', 'sh', script];
    const child = spawn(...endingWithUs('unshare', options), { stdio: ['ignore', 'pipe', 'ignore'] });
    const [line] = await Promise.race([once(child.stdout ?? child, 'data'), once(child, 'exit')]);
    if (!String(line).includes('ready')) throw new Error('the box did not open');
    return new NodeBox(child, insideOf(child.pid ?? 0));
  }

  /** A command for a shell of the node. The text is standard input, so that a secret in it is not an argument. */
  run(text: string): { readonly status: number | null; readonly output: string } {
    const { status, stdout, stderr } = spawnSync(
      'nsenter',
      ['--target', this.#inside, '--mount', '--pid', 'env', 'PATH=/opt/bin:/usr/sbin:/usr/bin:/sbin:/bin', 'sh'],
      { input: text, encoding: 'utf8', timeout: 60_000 },
    );
    return { status, output: stdout + stderr };
  }

  /** Like `run`; it must succeed. */
  sh(text: string): string {
    const { status, output } = this.run(text);
    if (status !== 0) throw new Error(`${text.slice(0, 200)}: ${output}`);
    return output;
  }

  get log(): string {
    return this.run('cat /run/agent.log 2>/dev/null').output;
  }

  variable(name: string): string {
    const text = this.run('cat /etc/coldiron/node-agent.env').output;
    return new RegExp(`^COLDIRON_${name}="([^"]*)"`, 'm').exec(text)?.[1] ?? '';
  }

  async close(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    process.kill(Number(this.#inside), 'SIGKILL');
    await exited;
  }
}

/** The first process of the box: `unshare` starts it as its child, and may itself be the child of a guard. */
function insideOf(pid: number): string {
  for (let current = String(pid); ; ) {
    const command = readFileSync(`/proc/${current}/cmdline`, 'utf8').split('\0');
    if (command[0] === 'sh' && command[1]?.endsWith('node-box.sh')) return current;
    const [child] = readFileSync(`/proc/${current}/task/${current}/children`, 'utf8').trim().split(' ');
    if (!child) throw new Error('the box has no first process');
    current = child;
  }
}
