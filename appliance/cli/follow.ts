// Follows nodes until their work is done or has failed: a line for everything that happens, with the time since the start, and on
// a terminal a bar for what takes long.

import { setTimeout as pause } from 'node:timers/promises';
import type { Way } from '../contract/operation.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Connection } from './connection.ts';
import { type Ending, type Look, lookAt } from './follow-node.ts';
import { type Output, printable, printJson, standardOutput, styled } from './terminal.ts';

const LOOK_EVERY_MS = 1000;

export interface Following {
  readonly way: Way;
  /** The newest event of each node before the work was asked for. */
  readonly before: ReadonlyMap<string, number>;
  readonly json: boolean;
}

/** Returns when every one has arrived; otherwise `work_failed` says which did not, where, why, and what to do. */
export async function follow(connection: Connection, nodes: readonly string[], following: Following): Promise<void> {
  const output = standardOutput();
  const screen = following.json ? null : new FollowScreen(output, nodes, Date.now());
  const after = new Map(nodes.map((node) => [node, following.before.get(node) ?? 0]));
  const endings = new Map<string, Ending>();
  while (endings.size < nodes.length) {
    for (const node of nodes.filter((name) => !endings.has(name))) {
      const look = await lookAt(connection, node, after.get(node) ?? 0, following.way);
      after.set(node, look.after);
      screen?.show(node, look);
      if (look.end) endings.set(node, look.end);
    }
    if (endings.size < nodes.length) await pause(LOOK_EVERY_MS);
  }
  screen?.clear();
  if (following.json) printJson(output, Object.fromEntries(endings));
  const failed = [...endings].flatMap(([node, end]) => (end.ok ? [] : [{ node, ...end }]));
  if (failed.length === 0) return;
  const lines = failed.flatMap(({ node, reason, nextStep }) => [`${node}: ${reason}`, `  → ${nextStep}`]);
  const [first] = failed;
  const message =
    failed.length === 1
      ? `${first?.node} failed at ${first?.stage}`
      : `${failed.length} of ${nodes.length} nodes failed`;
  throw new ColdironError('work_failed', message, lines);
}

const BAR_WIDTH = 30;
const ERASE_LINE = '\r\u001b[2K';

export class FollowScreen {
  readonly #output: Output;
  readonly #width: number;
  readonly #began: number;
  readonly #bars = new Map<string, string>();
  #drawn = false;

  constructor(output: Output, nodes: readonly string[], began: number) {
    this.#output = output;
    this.#width = nodes.length === 1 ? 0 : Math.max(...nodes.map((name) => name.length)) + 2;
    this.#began = began;
  }

  show(name: string, { news, progress, end, node }: Look): void {
    this.clear();
    for (const { at, words } of news) this.#line(name, Date.parse(at), printable(words));
    if (end) {
      this.#line(name, Date.now(), styled(this.#output, end.ok ? 'green' : 'red', end.ok ? node.state : 'failed'));
      this.#bars.delete(name);
    } else if (progress) this.#bars.set(name, barOf(progress));
    else this.#bars.delete(name);
    this.#draw();
  }

  clear(): void {
    if (this.#drawn) this.#output.write(ERASE_LINE);
    this.#drawn = false;
  }

  /** One line at the bottom, and only where it can be drawn over. */
  #draw(): void {
    const [first] = this.#bars;
    if (!this.#output.colour || !first) return;
    this.#output.write(`${this.#who(first[0])}${first[1]}`);
    this.#drawn = true;
  }

  /** Empty where there is only one node. */
  #who(name: string): string {
    return this.#width === 0 ? '' : printable(name).padEnd(this.#width);
  }

  #line(name: string, at: number, words: string): void {
    const seconds = Math.max(0, Math.round((at - this.#began) / 1000));
    const clock = `${String(Math.floor(seconds / 60)).padStart(3)}:${String(seconds % 60).padStart(2, '0')}`;
    this.#output.write(`${styled(this.#output, 'grey', clock)}  ${this.#who(name)}${words}\n`);
  }
}

const barOf = ({ step, percent }: { readonly step: string; readonly percent: number }): string => {
  const full = Math.round((percent / 100) * BAR_WIDTH);
  return `${printable(step)} [${'#'.repeat(full)}${' '.repeat(BAR_WIDTH - full)}] ${Math.floor(percent)} %`;
};
