// The serial line of one machine: its output goes to a file, to callers that wait for a text, and to the BMC; input from the
// BMC goes to the machine. The line survives power cycles.

import { rename, stat } from 'node:fs/promises';
import type { Readable, Writable } from 'node:stream';
import { ConsoleLog } from './console-log.ts';
import { OutputFile } from './output-file.ts';
import type { PseudoTerminal } from './pseudo-terminal.ts';

/** One previous file is kept. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;

export class SerialLine {
  readonly file: string;
  readonly #terminal: PseudoTerminal | null;
  readonly #log: OutputFile;
  readonly #readers = new Set<(console: ConsoleLog) => void>();
  #keyboard: Writable | null = null;
  /** Output of the current or last run of the machine. */
  console = new ConsoleLog();

  private constructor(file: string, terminal: PseudoTerminal | null) {
    this.file = file;
    this.#terminal = terminal;
    this.#log = new OutputFile(file);
    terminal?.onTyped((bytes) => this.#keyboard?.write(bytes));
  }

  /** `terminal`: the BMC's end; null: there is no BMC. */
  static async open(file: string, terminal: PseudoTerminal | null): Promise<SerialLine> {
    const size = await stat(file).then(
      (found) => found.size,
      () => 0,
    );
    if (size > MAX_FILE_BYTES) await rename(file, `${file}.1`);
    return new SerialLine(file, terminal);
  }

  /** Connects a machine that was just switched on; returns a function to call with the reason when it goes off. */
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

  /** Calls `reader` after each output; returns a function that ends that. */
  watch(reader: (console: ConsoleLog) => void): () => void {
    this.#readers.add(reader);
    return () => void this.#readers.delete(reader);
  }

  async close(): Promise<void> {
    await this.#terminal?.close();
    await this.#log.close();
  }
}
