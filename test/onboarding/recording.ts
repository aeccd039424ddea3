// Everything that crosses the network of a rack, recorded by tcpdump.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { RackNetwork } from '../../appliance/lab/rack/network.ts';

/** A secret may be cut by the end of a packet: then one of its parts is at least this long. */
const PART = 16;

export class Recording {
  readonly #file: string;
  readonly #tcpdump: ChildProcess;
  readonly #ended: Promise<unknown>;
  #bytes: Buffer | null = null;

  private constructor(file: string, tcpdump: ChildProcess) {
    this.#file = file;
    this.#tcpdump = tcpdump;
    this.#ended = once(tcpdump, 'close');
  }

  /** Resolves when it records. */
  static async start(network: RackNetwork, file: string): Promise<Recording> {
    const options = ['-i', network.bridge, '-s', '0', '-B', '65536', '-U', '-Z', 'root', '-w', file];
    const [command, ...args] = network.command('tcpdump', ...options);
    const tcpdump = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const recording = new Recording(file, tcpdump);
    let said = '';
    await new Promise<void>((resolve, reject) => {
      tcpdump.stderr?.on('data', (chunk) => {
        said += chunk;
        if (said.includes('listening on')) resolve();
      });
      void recording.#ended.then(() => reject(new Error(`tcpdump has ended: ${said}`)));
    });
    return recording;
  }

  async stop(): Promise<void> {
    this.#tcpdump.kill('SIGINT');
    await this.#ended;
  }

  has(text: string): boolean {
    return this.#read().includes(text);
  }

  /** Any part of it. */
  hasPartOf(secret: string): boolean {
    if (secret.length < 2 * PART) throw new Error(`too short to be looked for in parts: ${secret.length} characters`);
    return Array.from({ length: secret.length - PART + 1 }, (_, at) => secret.slice(at, at + PART)).some((part) =>
      this.has(part),
    );
  }

  #read(): Buffer {
    this.#bytes ??= readFileSync(this.#file);
    return this.#bytes;
  }
}
