// One virtual server: a QEMU process plugged into the rack's bridge.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, rm } from 'node:fs/promises';
import { ConsoleLog } from './console-log.ts';
import { disguiseIpxeRom } from './disguise.ts';
import { newVariablesOf, qemuCommand, type VirtualMachineSpec } from './firmware.ts';
import type { RackNetwork } from './network.ts';

export class RackMachine {
  readonly console = new ConsoleLog();
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #cleanUp: () => Promise<void>;
  #off: Promise<void> | null = null;

  private constructor(process: ChildProcess, cleanUp: () => Promise<void>) {
    this.#process = process;
    this.#cleanUp = cleanUp;
    for (const stream of [process.stdout, process.stderr]) {
      stream?.on('data', (bytes: Buffer) => this.console.append(bytes));
    }
    this.#exited = once(process, 'close').then(
      ([code, signal]) => this.console.end(new Error(`the machine went off (${signal ?? `QEMU ended with ${code}`})`)),
      (error: Error) => this.console.end(error),
    );
  }

  static async powerOn(network: RackNetwork, spec: VirtualMachineSpec): Promise<RackMachine> {
    const tap = await network.addTap();
    const newVariables = newVariablesOf(spec.firmware);
    const variables = newVariables === null ? null : network.file(`${tap}-variables.fd`);
    const cleanUp = async (): Promise<void> => {
      await network.removeTap(tap);
      if (variables !== null) await rm(variables, { force: true });
    };
    try {
      if (newVariables !== null && variables !== null) await copyFile(newVariables, variables);
      if (spec.firmware === 'bios-first-stage') await disguiseIpxeRom(network, tap);
      const [command, ...args] = network.command(...qemuCommand(spec, { tap, variables }));
      return new RackMachine(spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] }), cleanUp);
    } catch (error) {
      await cleanUp();
      throw error;
    }
  }

  get pid(): number | null {
    return this.#process.pid ?? null;
  }

  /** Immediately, like pulling the plug; does nothing when the machine is already off. */
  powerOff(): Promise<void> {
    this.#off ??= this.#end();
    return this.#off;
  }

  async #end(): Promise<void> {
    this.#process.kill('SIGKILL');
    await this.#exited;
    await this.#cleanUp();
  }
}
