// The output of a machine's serial line: keeps the last part, and lets callers wait for a text.

import { Changes } from './changes.ts';

/** Enough for a firmware, two loaders and the start of a kernel. */
const MAX_KEPT = 512 * 1024;

/** Cursor movements, colours and character sets, which firmware uses to draw its screen. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by control characters
const TERMINAL_CONTROL = /\x1b(?:\[[0-9;?=]*[A-Za-z]|[()][A-Z0-9]|[=>c78])/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: as above
const UNFINISHED_CONTROL = /\x1b(?:\[[0-9;?=]{0,16}|[()])?$/;

export class ConsoleLog {
  #text = '';
  /** The start of a control sequence that the next bytes complete. */
  #unfinished = '';
  #ended: Error | null = null;
  readonly #changes = new Changes();

  /** Without terminal controls; limited to the newest part. */
  get text(): string {
    return this.#text;
  }

  append(bytes: Uint8Array): void {
    const raw = this.#unfinished + Buffer.from(bytes).toString('latin1');
    const [unfinished = ''] = UNFINISHED_CONTROL.exec(raw) ?? [];
    this.#unfinished = unfinished;
    const whole = raw.slice(0, raw.length - unfinished.length);
    this.#text = (this.#text + whole.replace(TERMINAL_CONTROL, '').replaceAll('\r', '\n')).slice(-MAX_KEPT);
    this.#changes.happened();
  }

  /** No more output will follow; waiters are rejected with the reason. */
  end(reason: Error): void {
    this.#ended ??= reason;
    this.#changes.happened();
  }

  lastLines(count: number): readonly string[] {
    return this.#text
      .split('\n')
      .map((line) => line.trim())
      .filter((line) => line !== '')
      .slice(-count);
  }

  /** Returns the first match in the whole text; rejects when the machine goes off or the time is up, by this clock. */
  async waitFor(
    marker: RegExp,
    milliseconds: number,
    now: () => number = () => performance.now(),
  ): Promise<RegExpExecArray> {
    const deadline = now() + milliseconds;
    for (;;) {
      const match = marker.exec(this.#text);
      if (match) return match;
      if (this.#ended) throw new Error(`${marker} was not printed: ${this.#ended.message}`);
      const left = deadline - now();
      if (left <= 0) throw new Error(`${marker} was not printed within ${milliseconds} ms`);
      await this.#changes.next(left);
    }
  }
}
