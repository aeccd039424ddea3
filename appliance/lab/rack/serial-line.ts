// The serial line of one machine: what it prints goes to a file, to whoever waits for a text, and to the BMC; what is typed
// at the BMC goes to the machine. Nothing is lost between two power-ons.

import { createWriteStream, type WriteStream } from 'node:fs';
import { rename, stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { ConsoleLog } from './console-log.ts';
import type { PseudoTerminal } from './pseudo-terminal.ts';

/** The file before this one is kept, those before it are not. */
const LARGEST_FILE = 16 * 1024 * 1024;

export class SerialLine {
  readonly file: string;
  readonly #terminal: PseudoTerminal | null;
  readonly #log: WriteStream;
  readonly #readers = new Set<(console: ConsoleLog) => void>();
  #keyboard: Writable | null = null;
  /** Of the present or the last run of the machine. */
  console = new ConsoleLog();

  private constructor(file: string, terminal: PseudoTerminal | null) {
    this.file = file;
    this.#terminal = terminal;
    this.#log = createWriteStream(file, { flags: 'a', mode: 0o600 });
    terminal?.onTyped((bytes) => this.#keyboard?.write(bytes));
  }

  /** `terminal`: the BMC's end; null: there is no BMC. */
  static async open(file: string, terminal: PseudoTerminal | null): Promise<SerialLine> {
    const size = await stat(file).then(
      (found) => found.size,
      () => 0,
    );
    if (size > LARGEST_FILE) await rename(file, `${file}.1`);
    return new SerialLine(file, terminal);
  }

  /** A machine that has just been switched on; returns what is to be called with the reason when it went off. */
  connect(output: Readable, keyboard: Writable): (reason: string) => void {
    const console = new ConsoleLog();
    this.console = console;
    this.#keyboard = keyboard;
    keyboard.on('error', () => {});
    output.on('data', (bytes: Buffer) => {
      this.#log.write(bytes);
      this.#terminal?.write(bytes);
      console.append(bytes);
      for (const reader of [...this.#readers]) reader(console);
    });
    return (reason) => {
      if (this.#keyboard === keyboard) this.#keyboard = null;
      console.end(new Error(reason));
    };
  }

  /** Called after everything that is printed; returns what ends that. */
  watch(reader: (console: ConsoleLog) => void): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  async close(): Promise<void> {
    await this.#terminal?.close();
    await new Promise<void>((resolve) => this.#log.end(() => resolve()));
  }
}
