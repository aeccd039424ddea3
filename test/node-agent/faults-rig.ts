// The agent with injected faults: programs that it calls are replaced by wrappers that record their calls,
// and that kill the whole agent at a chosen call.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Machine } from '../../appliance/domain/machine.ts';
import { installAgent, type NodeApiSite } from '../servers/node-api/node-api-site.ts';
import { InstalledAgent } from './agent-rig.ts';

export interface StandIns {
  /** The programs that count, for example `curl` or `mv`: all that have an effect, here or at the appliance. */
  readonly counted: readonly string[];
  /** The call at which everything is killed, before or after its effect; 0: never. */
  readonly killAt: number;
  readonly when: 'before' | 'after';
}

export class FaultyNode {
  readonly agent: InstalledAgent;
  readonly #bin: string;
  readonly #note: string;

  constructor(site: NodeApiSite, name: string, script: string) {
    const root = installAgent(site, name, script);
    this.agent = new InstalledAgent(root, () => undefined);
    this.#bin = join(root, 'bin');
    this.#note = join(root, 'calls');
  }

  /** The calls of the counted programs since the last start. */
  get calls(): string[] {
    return existsSync(this.#note) ? readFileSync(this.#note, 'utf8').split('\n').filter(Boolean) : [];
  }

  start({ counted, killAt, when }: StandIns, shell: readonly string[] = ['dash'], path = ''): void {
    mkdirSync(this.#bin, { recursive: true });
    writeFileSync(this.#note, '');
    for (const program of counted) this.#standIn(program, killAt, when);
    this.agent.start(shell, { PATH: `${path}${this.#bin}:${process.env.PATH}` });
  }

  async killed(): Promise<void> {
    await this.agent.exited();
  }

  #standIn(program: string, killAt: number, when: StandIns['when']): void {
    const real = whereIs(program);
    // The agent is the leader of its group and alone in it. A wrapper calls no other wrapper.
    const dies = `[ "$(${whereIs('grep')} -c . '${this.#note}')" -ne ${killAt} ] || kill -s KILL 0`;
    const lines = [
      '#!/bin/sh',
      // One line each, whatever the arguments contain.
      `printf '%s %s\\n' '${program}' "$(printf '%s ' "$@" | ${whereIs('tr')} '\\n' ' ')" >>'${this.#note}'`,
      ...(when === 'before' ? [dies, `exec ${real} "$@"`] : [`${real} "$@"`, 'status=$?', dies, 'exit $status']),
    ];
    writeFileSync(join(this.#bin, program), `${lines.join('\n')}\n`, { mode: 0o755 });
  }
}

const whereIs = (program: string): string =>
  spawnSync('sh', ['-c', `command -v ${program}`], { encoding: 'utf8' }).stdout.trim();

export async function installed(site: NodeApiSite, machine: Machine, name: string): Promise<FaultyNode> {
  const { script } = await site.issueBundle(machine);
  return new FaultyNode(site, name, script);
}
