// The TPM of one machine: swtpm, which runs while the machine is on. What a TPM keeps without power, its keys above all, is in
// the machine's folder.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { access, open, readFile, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { ColdironError } from '../../domain/errors.ts';
import type { RackedMachine } from './definition.ts';
import { answerGarbage } from './garbage-tpm.ts';
import type { RackNetwork } from './network.ts';
import type { ProcessRecords } from './process-records.ts';
import type { TpmVendor } from './tpm-vendor.ts';

export interface RackTpmDeps {
  readonly machine: RackedMachine;
  readonly network: RackNetwork;
  readonly records: ProcessRecords;
  readonly vendor: TpmVendor;
  /** The machine's folder. */
  readonly folder: string;
}

/** What is in the machine's socket instead of its own TPM. */
export type TpmFault = 'absent' | 'replaced' | 'bad-certificate' | 'garbage' | 'dead';
export type TpmState = 'own' | TpmFault;

/** What QEMU needs to use it. */
export type PoweredTpm =
  | { readonly kind: 'process'; readonly socket: string }
  /** This process answers for it. */
  | { readonly kind: 'stream'; readonly serve: (machine: Duplex) => void };

const START_TIMEOUT_MS = 20_000;
const POLL_EVERY_MS = 10;

export class RackTpm {
  readonly #deps: RackTpmDeps;
  #fault: TpmFault | null = null;
  #clear: (() => void) | null = null;
  #process: ChildProcess | null = null;
  #ending: Promise<void> | null = null;

  private constructor(deps: RackTpmDeps) {
    this.#deps = deps;
  }

  /** The TPM of an earlier rack in this folder, or a new one. */
  static async install(deps: RackTpmDeps): Promise<RackTpm> {
    const tpm = new RackTpm(deps);
    await tpm.#manufactured('own');
    return tpm;
  }

  get state(): TpmState {
    return this.#fault ?? 'own';
  }

  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** From the next power-on. One at a time: a machine has one socket. */
  async setFault(fault: TpmFault | null): Promise<void> {
    if (fault !== null && this.#fault !== null) {
      throw new ColdironError('conflict', `the TPM of ${this.#deps.machine.name} has another fault: ${this.#fault}`);
    }
    this.#fault = fault;
  }

  /** At the next power-on its endorsement keys are replaced for good, and `cleared` is called; undone by the result. */
  clearAtPowerOn(cleared: () => void): () => void {
    this.#clear = cleared;
    return () => {
      this.#clear = null;
    };
  }

  /** How QEMU reaches it; null: the machine has none. */
  async powerOn(): Promise<PoweredTpm | null> {
    await this.powerOff();
    await this.#clearNow();
    switch (this.state) {
      case 'absent':
        return null;
      case 'dead':
        return { kind: 'stream', serve: (machine) => answerGarbage(machine, null) };
      case 'garbage': {
        await this.#startProcess(await this.#manufactured('own'));
        return { kind: 'stream', serve: (machine) => answerGarbage(machine, connect(this.#socket('commands'))) };
      }
      case 'own':
      case 'replaced':
      case 'bad-certificate':
        await this.#startProcess(await this.#manufactured(this.state));
        return { kind: 'process', socket: this.#socket('control') };
    }
  }

  /** Also when it is called twice at the same time. */
  powerOff(): Promise<void> {
    this.#ending ??= this.#end().finally(() => {
      this.#ending = null;
    });
    return this.#ending;
  }

  async #end(): Promise<void> {
    const dying = this.#process;
    if (dying !== null) {
      const exited = once(dying, 'exit');
      dying.kill('SIGKILL');
      await exited;
    }
    await this.#deps.records.remove(this.#record);
  }

  get #record(): string {
    return `${this.#deps.machine.name}-tpm`;
  }

  async #clearNow(): Promise<void> {
    if (this.#clear === null) return;
    await this.#deps.vendor.manufacture(this.#stateFolder('own'));
    this.#clear();
    this.#clear = null;
  }

  /** Each of them keeps its keys. */
  async #manufactured(which: 'own' | 'replaced' | 'bad-certificate'): Promise<string> {
    const folder = this.#stateFolder(which);
    const exists = await access(folder).then(
      () => true,
      () => false,
    );
    if (!exists) await this.#deps.vendor.manufacture(folder, { damaged: which === 'bad-certificate' });
    return folder;
  }

  #stateFolder(which: TpmState): string {
    return join(this.#deps.folder, which === 'own' ? 'tpm' : `tpm-${which}`);
  }

  #socket(use: 'control' | 'commands'): string {
    return this.#deps.network.file(`tpm-${this.#deps.machine.number}-${use}`);
  }

  /** Returns when it accepts connections. QEMU passes a socket for commands over the control socket. */
  async #startProcess(state: string): Promise<void> {
    const { network, records, machine, folder } = this.#deps;
    const [control, commands] = [this.#socket('control'), this.#socket('commands')];
    for (const socket of [control, commands]) await rm(socket, { force: true });
    const options = ['--tpm2', '--tpmstate', `dir=${state}`, '--ctrl', `type=unixio,path=${control},mode=0600`];
    if (this.state === 'garbage') options.push('--server', `type=unixio,path=${commands},mode=0600`, ...POWERED);
    const [command, ...args] = network.command('swtpm', 'socket', ...options);
    const logFile = join(folder, 'tpm.log');
    await using log = await open(logFile, 'w', 0o600);
    const started = spawn(command, args, { stdio: ['ignore', log.fd, log.fd] });
    this.#process = started;
    started.once('exit', () => {
      this.#process = null;
    });
    await once(started, 'spawn');
    if (started.pid !== undefined) await records.write(this.#record, started.pid);
    const deadline = performance.now() + START_TIMEOUT_MS;
    while (this.#process !== null && performance.now() < deadline) {
      if (await accepts(control)) return;
      await pause(POLL_EVERY_MS);
    }
    await this.powerOff();
    const lines = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line !== '');
    throw new ColdironError('service_unavailable', `the TPM of ${machine.name} does not start`, lines);
  }
}

/** Without QEMU, nobody else switches it on. */
const POWERED = ['--flags', 'not-need-init'];

const accepts = (path: string): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
