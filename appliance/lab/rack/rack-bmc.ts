// The BMC of one machine: OpenIPMI's simulator on its own address in the rack's network.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import type { Secret } from '../../domain/secret.ts';
import { bmcAddress } from './addresses.ts';
import { type BmcPlaces, lanConfig, simulatedBmc } from './bmc-config.ts';
import type { RackedMachine } from './definition.ts';
import type { RackNetwork } from './network.ts';
import { type ProcessRecords, signal } from './process-records.ts';

export interface RackBmcDeps extends BmcPlaces {
  readonly machine: RackedMachine;
  readonly network: RackNetwork;
  readonly records: ProcessRecords;
  readonly password: Secret;
  /** Holds the BMC's nonvolatile data: users, event log. */
  readonly folder: string;
}

/** `gone`: no process, like an unplugged BMC. `hanging`: the process is stopped and does not reply. */
export type BmcState = 'answering' | 'hanging' | 'gone';

const START_TIMEOUT_MS = 20_000;
const POLL_EVERY_MS = 20;
const IPMI_PORT = 623;

export class RackBmc {
  readonly address: string;
  readonly #deps: RackBmcDeps;
  #process: ChildProcess | null = null;
  #hanging = false;

  private constructor(deps: RackBmcDeps) {
    this.#deps = deps;
    this.address = bmcAddress(deps.machine.number);
  }

  static async start(deps: RackBmcDeps): Promise<RackBmc> {
    const bmc = new RackBmc(deps);
    await deps.network.addAddress(`${bmc.address}/32`);
    await mkdir(join(deps.folder, 'memory'), { recursive: true, mode: 0o700 });
    await writeFile(bmc.#file('lan.conf'), lanConfig(deps.machine, deps.password, deps), { mode: 0o600 });
    await writeFile(bmc.#file('bmc.emu'), simulatedBmc(deps.machine), { mode: 0o600 });
    await bmc.revive();
    return bmc;
  }

  get state(): BmcState {
    if (this.#process === null) return 'gone';
    return this.#hanging ? 'hanging' : 'answering';
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** Stops the process, which keeps its sockets. */
  hang(): void {
    this.#hanging = this.#process?.kill('SIGSTOP') ?? false;
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
    this.#hanging = false;
  }

  async kill(): Promise<void> {
    const dying = this.#process;
    if (dying === null) return;
    const exited = once(dying, 'exit');
    dying.kill('SIGKILL');
    await exited;
  }

  /** Does nothing when it already runs. Returns when packets reach it. */
  async revive(): Promise<void> {
    if (this.#process !== null) return;
    const { network, records, machine } = this.#deps;
    const files = ['-c', this.#file('lan.conf'), '-f', this.#file('bmc.emu'), '-s', this.#file('memory')];
    const [command, ...args] = network.command('ipmi_sim', '-n', ...files);
    await using log = await open(this.#file('bmc.log'), 'w', 0o600);
    const started = spawn(command, args, { stdio: ['ignore', log.fd, log.fd] });
    this.#process = started;
    this.#hanging = false;
    started.once('exit', () => {
      this.#process = null;
    });
    await once(started, 'spawn');
    if (started.pid !== undefined) await records.write(`${machine.name}-bmc`, started.pid);
    await this.#untilBound();
  }

  async stop(): Promise<void> {
    await this.kill();
    await this.#deps.records.remove(`${this.#deps.machine.name}-bmc`);
  }

  /** The simulator does not report readiness; once its socket is bound, packets are queued there. */
  async #untilBound(): Promise<void> {
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (performance.now() < deadline) {
      if (this.pid === null || !signal(this.pid, 'SIGCONT')) break;
      const sockets = await readFile(`/proc/${this.pid}/net/udp`, 'latin1').catch(() => '');
      if (sockets.includes(` ${socketName(this.address)} `)) return;
      await pause(POLL_EVERY_MS);
    }
    const output = await readFile(this.#file('bmc.log'), 'utf8');
    await this.kill();
    const lines = output.split('\n').filter((line) => line !== '');
    throw new ColdironError('service_unavailable', `the BMC of ${this.#deps.machine.name} does not start`, lines);
  }

  #file(name: string): string {
    return join(this.#deps.folder, name);
  }
}

/** proc_net(5): the address in host byte order, and the port. */
const socketName = (address: string): string => {
  const bytes = address.split('.').map(Number).reverse();
  return `${hex(bytes, 2)}:${hex([IPMI_PORT], 4)}`;
};

const hex = (numbers: readonly number[], digits: number): string =>
  numbers.map((number) => number.toString(16).toUpperCase().padStart(digits, '0')).join('');
