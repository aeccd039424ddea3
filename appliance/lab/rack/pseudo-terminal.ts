// A serial port that survives power cycles: socat holds one end of a pseudo terminal and copies it to its standard input and
// output.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants, type FileHandle, open } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { ColdironError } from '../../domain/errors.ts';
import type { RackNetwork } from './network.ts';
import type { ProcessRecords } from './process-records.ts';

type Socat = ChildProcessByStdio<Writable, Readable, Readable>;

/** Unread output beyond this is dropped, as on a serial line. */
const MAX_UNREAD = 256 * 1024;

export class PseudoTerminal {
  /** For the program that connects to the port. */
  readonly device: string;
  readonly #socat: Socat;
  readonly #holder: FileHandle;
  readonly #exited: Promise<unknown>;

  private constructor(device: string, socat: Socat, holder: FileHandle) {
    this.device = device;
    this.#socat = socat;
    this.#holder = holder;
    this.#exited = once(socat, 'exit');
    socat.stdin.on('error', () => {});
  }

  static async open(network: RackNetwork, records: ProcessRecords, name: string): Promise<PseudoTerminal> {
    const [command, ...args] = network.command('socat', '-d', '-d', 'STDIO', 'PTY,rawer');
    const socat = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'] });
    const device = await deviceOf(socat);
    if (socat.pid !== undefined) await records.write(name, socat.pid);
    // We keep it open as well: without a reader socat would treat the line as closed, and exit.
    const holder = await open(device, constants.O_RDWR | constants.O_NOCTTY);
    return new PseudoTerminal(device, socat, holder);
  }

  write(bytes: Uint8Array): void {
    if (this.#socat.stdin.writableLength < MAX_UNREAD) this.#socat.stdin.write(bytes);
  }

  onTyped(typed: (bytes: Uint8Array) => void): void {
    this.#socat.stdout.on('data', typed);
  }

  async close(): Promise<void> {
    this.#socat.kill('SIGKILL');
    await this.#exited;
    await this.#holder.close();
  }
}

async function deviceOf(socat: Socat): Promise<string> {
  const output: string[] = [];
  const reader = createInterface({ input: socat.stderr });
  const device = new Promise<string>((resolve, reject) => {
    reader.on('line', (line) => {
      output.push(line);
      const [, path] = /PTY is (\/dev\/pts\/\d+)/.exec(line) ?? [];
      if (path !== undefined) resolve(path);
    });
    const failed = (why: string): void =>
      reject(new ColdironError('service_unavailable', `socat did not create a serial port: ${why}`, output));
    socat.once('error', (error) => failed(error.message));
    socat.once('close', () => failed('it exited'));
  });
  const path = await device;
  // The remaining output is ignored, but must be read, or socat would block.
  reader.removeAllListeners('line').on('line', () => {});
  return path;
}
