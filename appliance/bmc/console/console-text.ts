// The text of one console: bytes become clean lines without secrets, and the beginning of each boot is found.

import { type Instant, SECOND } from '../../domain/instant.ts';
import { beginsPrivateKey, endsPrivateKey, MASKED, maskSecrets } from '../../domain/secret-masks.ts';
import { LineReader, type LineSink } from './line-reader.ts';

export interface ConsoleTextSink {
  line(text: string): void;
  /** The next line is the first of another boot. */
  bootBegins(): void;
}

/** The first line of a kernel. */
const KERNEL_BEGINS = /^(?:\[ {0,8}0\.000000\] )?Linux version \d/;
const FIRMWARE_BEGINS = /^SeaBIOS \(version /;
/** The last line of a kernel. */
const KERNEL_ENDS = /\breboot: (?:Restarting system|Power down|System halted)/;
/** A firmware that prints its first line later than this after a power command has started by itself. */
const FIRMWARE_WITHIN = 15 * SECOND;
/** Longer ones are no private keys. */
const MOST_KEY_LINES = 120;

export class ConsoleText {
  readonly #reader = new LineReader();
  readonly #sink: ConsoleTextSink;
  readonly #lines: LineSink;
  #keyLines = 0;
  #expected = false;
  #kernelSeen = false;
  #began: Instant = Number.NEGATIVE_INFINITY;
  #now: Instant = 0;

  constructor(sink: ConsoleTextSink) {
    this.#sink = sink;
    this.#lines = {
      line: (text) => this.#onLine(text),
      firmwareScreen: () => {
        if (this.#kernelSeen) this.#expected = true;
      },
    };
  }

  read(bytes: Uint8Array, now: Instant): void {
    this.#now = now;
    this.#reader.read(bytes, this.#lines);
  }

  /** The machine is about to be started: what it prints next is another boot. */
  expectBoot(now: Instant): void {
    this.#now = now;
    this.#reader.end(this.#lines);
    this.#expected = true;
  }

  get unfinished(): string {
    return this.#masked(this.#reader.unfinished);
  }

  end(now: Instant): void {
    this.#now = now;
    this.#reader.end(this.#lines);
  }

  #onLine(text: string): void {
    if (this.#begins(text)) {
      this.#expected = false;
      this.#kernelSeen = false;
      this.#keyLines = 0;
      this.#began = this.#now;
      this.#sink.bootBegins();
    }
    this.#kernelSeen ||= KERNEL_BEGINS.test(text);
    this.#expected = KERNEL_ENDS.test(text);
    this.#sink.line(this.#masked(text, true));
  }

  #begins(text: string): boolean {
    if (this.#expected) return true;
    if (KERNEL_BEGINS.test(text)) return this.#kernelSeen;
    return FIRMWARE_BEGINS.test(text) && (this.#kernelSeen || this.#now - this.#began > FIRMWARE_WITHIN);
  }

  /** `counts`: the line is complete, so it may begin or end a private key. */
  #masked(text: string, counts = false): string {
    const insideKey = this.#keyLines > 0 || beginsPrivateKey(text);
    if (counts && insideKey) {
      this.#keyLines = endsPrivateKey(text) || this.#keyLines >= MOST_KEY_LINES ? 0 : this.#keyLines + 1;
    }
    return insideKey ? MASKED : maskSecrets(text);
  }
}
