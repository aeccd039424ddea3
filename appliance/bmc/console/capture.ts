// The capture of one console: reads its seat, stores the lines, and reports the known ones.

import type { ConsoleSignature } from '../../domain/console/signature.ts';
import { consoleSignature } from '../../domain/console/signatures.ts';
import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';
import type { BmcError, BmcFailure } from '../bmc-error.ts';
import type { BmcClock } from '../clock.ts';
import type { ConsoleWriter } from './console-files.ts';
import type { ConsoleSeat } from './console-seat.ts';
import { ConsoleText } from './console-text.ts';
import { MatchLimit } from './match-limit.ts';
import type { Follower } from './shared-console.ts';

export interface CaptureDeps {
  readonly clock: BmcClock;
  readonly writer: Pick<ConsoleWriter, 'add' | 'beginBoot'>;
  readonly follow: (follower: Follower) => ConsoleSeat;
  readonly matched: (signature: ConsoleSignature, line: string) => void;
  /** Called once: why the console is not captured, where that is news. */
  readonly unavailable: (because: string) => void;
  /** The console will not be opened again: trying again cannot help. */
  readonly gaveUp: () => void;
}

/** A prompt ends without a line feed: after this silence it is searched too. */
const SETTLED_AFTER = SECOND;
/** Three times as much as a serial line can send: a BMC that sends more costs no more time. */
const MOST_PER_MINUTE = 2 * 1024 * 1024;
const LONGEST_REPORTED = 300;
const NEWS: ReadonlySet<BmcFailure> = new Set(['busy', 'unsupported', 'privilege']);

export class Capture {
  readonly #deps: CaptureDeps;
  readonly #text: ConsoleText;
  readonly #limit = new MatchLimit();
  readonly #firstTry = Promise.withResolvers<void>();
  readonly #ended: Promise<void>;
  readonly #seat: ConsoleSeat;
  #cancelSettle: (() => void) | null = null;
  #lastPrompt = '';
  #minute: Instant = Number.NEGATIVE_INFINITY;
  #inMinute = 0;
  #dropped = 0;
  #told = false;
  #isOpen = false;

  constructor(deps: CaptureDeps) {
    this.#deps = deps;
    this.#text = new ConsoleText({
      line: (text) => this.#onLine(text),
      bootBegins: () => {
        deps.writer.beginBoot();
        this.#limit.beginBoot();
      },
    });
    this.#seat = deps.follow({
      who: 'the console capture',
      opened: () => {
        this.#isOpen = true;
        this.#firstTry.resolve();
      },
      trouble: (error, gaveUp) => this.#onTrouble(error, gaveUp),
    });
    this.#ended = this.#run();
  }

  /** Resolves when the console is open, or cannot be opened now. */
  get ready(): Promise<void> {
    return this.#firstTry.promise;
  }

  /** The BMC sends its output now. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** The line that is not ended yet. */
  get unfinished(): string {
    return this.#text.unfinished;
  }

  expectBoot(): void {
    this.#text.expectBoot(this.#deps.clock.now());
  }

  async stop(): Promise<void> {
    await this.#seat.close();
    await this.#ended;
  }

  async #run(): Promise<void> {
    try {
      for await (const bytes of this.#seat) this.#onBytes(bytes);
    } catch {
      // The follower was told why.
    }
    this.#cancelSettle?.();
    this.#text.end(this.#deps.clock.now());
    this.#firstTry.resolve();
  }

  #onBytes(bytes: Uint8Array): void {
    const { clock } = this.#deps;
    const now = clock.now();
    if (now - this.#minute >= MINUTE) {
      this.#minute = now;
      this.#inMinute = 0;
    }
    this.#inMinute += bytes.length;
    this.#dropped += this.#seat.takeLost();
    if (this.#inMinute > MOST_PER_MINUTE) {
      this.#dropped += bytes.length;
      return;
    }
    this.#tellDropped(now);
    this.#text.read(bytes, now);
    this.#cancelSettle?.();
    this.#cancelSettle = clock.wakeAt(now + SETTLED_AFTER, () => this.#onSettled());
  }

  #tellDropped(at: Instant): void {
    if (this.#dropped === 0) return;
    const text = `[coldiron: ${this.#dropped} bytes are not here: more arrived than a serial line can send]`;
    this.#deps.writer.add({ at, text });
    this.#dropped = 0;
  }

  #onSettled(): void {
    this.#cancelSettle = null;
    const prompt = this.#text.unfinished;
    if (prompt === '' || prompt === this.#lastPrompt) return;
    this.#lastPrompt = prompt;
    this.#search(prompt);
  }

  #onLine(text: string): void {
    this.#deps.writer.add({ at: this.#deps.clock.now(), text });
    this.#search(text);
  }

  #search(line: string): void {
    const signature = consoleSignature(line);
    if (signature === null || !this.#limit.admits(signature.id, line, this.#deps.clock.now())) return;
    this.#deps.matched(signature, line.slice(0, LONGEST_REPORTED));
  }

  /** The effects of the machine report a BMC that cannot be reached; here only what concerns the console is news. */
  #onTrouble(error: BmcError, gaveUp: boolean): void {
    this.#isOpen = false;
    this.#firstTry.resolve();
    if (!this.#told && NEWS.has(error.failure)) {
      this.#told = true;
      this.#deps.unavailable(error.message);
    }
    if (gaveUp) this.#deps.gaveUp();
  }
}
