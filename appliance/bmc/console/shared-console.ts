// One serial-over-LAN session of one BMC, shared by several readers and at most one writer: many BMCs allow only one session. The
// first seat opens it; it is closed some seconds after the last seat is left. A session that the BMC drops is opened again while
// anybody needs it.

import { type Instant, MINUTE, SECOND } from '../../domain/instant.ts';
import type { BmcConsole } from '../bmc.ts';
import { BmcError, type BmcFailure } from '../bmc-error.ts';
import type { BmcClock } from '../clock.ts';
import { ConsoleSeat, type SeatOptions } from './console-seat.ts';

export interface ConsoleSession {
  readonly console: BmcConsole;
  /** Closes the console and the BMC. Never rejects. */
  close(): Promise<void>;
}

export interface SharedConsoleDeps {
  readonly clock: BmcClock;
  /** `steal`: ends the session of a client outside this appliance. */
  readonly open: (options: { readonly steal: boolean }) => Promise<ConsoleSession>;
  /** The last seat is left and the session is closed. */
  readonly onIdle: () => void;
}

export interface ViewerRequest {
  readonly who: string;
  readonly readOnly: boolean;
  /** Takes the typing over, or the console from a client outside this appliance. */
  readonly steal: boolean;
}

export interface Follower extends Pick<SeatOptions, 'who'> {
  /** Called when the session is open, each time. */
  readonly opened: () => void;
  /** It cannot be opened. `gaveUp`: it is not tried again. */
  readonly trouble: (error: BmcError, gaveUp: boolean) => void;
}

/** A viewer that reconnects finds the session open. */
const LINGER = 2 * SECOND;
const FIRST_PAUSE = 2 * SECOND;
const LONGEST_PAUSE = MINUTE;
/** After another client took the console: time for it to open its own session. */
const PAUSE_WHEN_TAKEN = 10 * SECOND;
/** A session that lasted this long was good: pauses begin small again. */
const GOOD_AFTER = 30 * SECOND;
/** A person does not wait longer for a BMC that does not come back. */
const VIEWERS_WAIT = MINUTE;
/** The end of the output, shown to a viewer that joins. */
const TAIL_BYTES = 16 * 1024;

/** Trying again cannot help, or could lock the user of the BMC. */
const FINAL: ReadonlySet<BmcFailure> = new Set(['authentication', 'privilege', 'unsupported', 'untrusted', 'closed']);

export class SharedConsole {
  readonly #deps: SharedConsoleDeps;
  readonly #seats = new Set<ConsoleSeat>();
  readonly #followers = new Map<ConsoleSeat, Follower>();
  #session: ConsoleSession | null = null;
  #opening: Promise<void> | null = null;
  /** Viewers that wait for the opening. */
  #joining = 0;
  #cancelTimer: (() => void) | null = null;
  #failures = 0;
  #openedAt: Instant = 0;
  #droppedAt: Instant | null = null;
  readonly #tail = new OutputTail(TAIL_BYTES);
  #stopped = false;

  constructor(deps: SharedConsoleDeps) {
    this.#deps = deps;
  }

  get isOpen(): boolean {
    return this.#session !== null;
  }

  /** For a person. Rejects as the BMC does, and with `busy` when somebody else types. */
  async view({ who, readOnly, steal }: ViewerRequest): Promise<BmcConsole> {
    const writes = !readOnly;
    if (writes && !steal) this.#refuseSecondWriter();
    await this.#join(steal);
    // Somebody else may have waited for the same opening.
    if (writes && !steal) this.#refuseSecondWriter();
    if (writes) this.#takeTypingOver(who);
    const seat = this.#seat({ who, writes, lossy: false });
    const tail = this.#tail.bytes();
    if (tail.length > 0) seat.deliver(tail);
    return seat;
  }

  async #join(steal: boolean): Promise<void> {
    this.#joining += 1;
    try {
      // An opening on behalf of others does not take the console from anybody, so this viewer may succeed where it fails.
      await this.#opening?.catch(() => undefined);
      if (!this.#session) await this.#open(steal);
    } catch (error) {
      if (this.#seats.size > 0) this.#onOpenFailed(error);
      throw error;
    } finally {
      this.#joining -= 1;
      this.#afterChange();
    }
  }

  /** For a program that reads as long as it needs to, whatever the BMC does. It never takes the console from anybody. */
  follow(follower: Follower): ConsoleSeat {
    const seat = this.#seat({ who: follower.who, writes: false, lossy: true });
    this.#followers.set(seat, follower);
    if (this.#session) follower.opened();
    else if (this.#opening === null && this.#failures === 0) this.#openAgain();
    return seat;
  }

  /** Ends everything at once: the appliance stops. */
  async stop(because: string): Promise<void> {
    this.#stopped = true;
    for (const seat of [...this.#seats]) seat.end(new BmcError('closed', because));
    this.#cancelTimer?.();
    await this.#opening?.catch(() => undefined);
    await this.#close();
  }

  #refuseSecondWriter(): void {
    const writer = this.#writer();
    if (!writer) return;
    throw new BmcError(
      'busy',
      `${writer.who} types on this console; --read-only shows it without typing, and --steal takes the typing over`,
    );
  }

  #writer(): ConsoleSeat | null {
    return [...this.#seats].find(({ writes }) => writes) ?? null;
  }

  #takeTypingOver(who: string): void {
    const writer = this.#writer();
    if (!writer) return;
    writer.writes = false;
    writer.notice(`${who} types now; you can still read`);
  }

  #seat(options: SeatOptions): ConsoleSeat {
    const seat = new ConsoleSeat(
      options,
      (_seat, characters) => this.#session?.console.write(characters),
      (left) => this.#left(left),
    );
    this.#seats.add(seat);
    this.#afterChange();
    return seat;
  }

  #left(seat: ConsoleSeat): void {
    this.#seats.delete(seat);
    this.#followers.delete(seat);
    this.#afterChange();
  }

  /** Starts or ends the time that the session outlives its last seat. */
  #afterChange(): void {
    if (this.#stopped) return;
    if (this.#isNeeded()) {
      if (this.#session) this.#setTimer(null);
      return;
    }
    if (this.#opening !== null) return;
    if (this.#session) this.#setTimer(LINGER, () => void this.#close().then(() => this.#idle()));
    else this.#idle();
  }

  #isNeeded(): boolean {
    return this.#seats.size > 0 || this.#joining > 0;
  }

  #idle(): void {
    if (this.#isNeeded() || this.#opening !== null) return;
    this.#setTimer(null);
    this.#failures = 0;
    this.#deps.onIdle();
  }

  #setTimer(after: number | null, run: () => void = () => undefined): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (after === null) return;
    const { clock } = this.#deps;
    this.#cancelTimer = clock.wakeAt(clock.now() + after, () => {
      this.#cancelTimer = null;
      run();
    });
  }

  /** One opening at a time; everybody who waits gets its result. */
  #open(steal: boolean): Promise<void> {
    this.#setTimer(null);
    this.#opening ??= this.#openNow(steal).finally(() => {
      this.#opening = null;
    });
    return this.#opening;
  }

  async #openNow(steal: boolean): Promise<void> {
    const session = await this.#deps.open({ steal });
    if (this.#stopped) {
      await session.close();
      throw new BmcError('closed', 'the appliance is stopping');
    }
    this.#session = session;
    this.#openedAt = this.#deps.clock.now();
    this.#tail.clear();
    if (this.#droppedAt !== null) for (const seat of this.#seats) seat.notice('the console is open again');
    this.#droppedAt = null;
    for (const follower of this.#followers.values()) follower.opened();
    void this.#pump(session);
  }

  /** An opening that no viewer asked for: failures are reported to the followers, and it is repeated with increasing pauses. */
  #openAgain(): void {
    if (this.#stopped || !this.#isNeeded()) return;
    this.#open(false).then(
      () => this.#afterChange(),
      (error: unknown) => {
        this.#onOpenFailed(error);
        this.#afterChange();
      },
    );
  }

  #onOpenFailed(thrown: unknown): void {
    const error = asBmcError(thrown);
    this.#failures += 1;
    const { clock } = this.#deps;
    const final = FINAL.has(error.failure);
    const waited = this.#droppedAt === null ? VIEWERS_WAIT : clock.now() - this.#droppedAt;
    if (final || error.failure === 'busy' || waited >= VIEWERS_WAIT) {
      for (const seat of [...this.#seats]) if (!seat.lossy) seat.end(error);
    }
    for (const [seat, follower] of [...this.#followers]) {
      follower.trouble(error, final);
      if (final) seat.end(error);
    }
    if (this.#seats.size > 0) this.#setTimer(this.#pause(error.failure), () => this.#openAgain());
  }

  #pause(failure: BmcFailure): number {
    if (failure === 'busy') return LONGEST_PAUSE;
    return Math.min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** Math.min(this.#failures - 1, 10));
  }

  async #pump(session: ConsoleSession): Promise<void> {
    let ended: BmcError;
    try {
      for await (const bytes of session.console) {
        this.#tail.push(bytes);
        for (const seat of [...this.#seats]) seat.deliver(bytes);
      }
      ended = new BmcError('vanished', 'the BMC closed the console');
    } catch (error) {
      ended = asBmcError(error);
    }
    if (this.#session !== session) return;
    this.#session = null;
    await session.close();
    if (this.#stopped) return;
    this.#onDropped(ended);
  }

  #onDropped(error: BmcError): void {
    const { clock } = this.#deps;
    if (!this.#isNeeded()) {
      this.#afterChange();
      return;
    }
    this.#droppedAt = clock.now();
    if (clock.now() - this.#openedAt >= GOOD_AFTER) this.#failures = 0;
    this.#failures += 1;
    const viewers = [...this.#seats].filter(({ lossy }) => !lossy);
    for (const seat of viewers) seat.notice(`the console was interrupted: ${error.message}; it is being opened again`);
    const taken = error.failure === 'busy' && viewers.length === 0;
    this.#setTimer(taken ? PAUSE_WHEN_TAKEN : this.#pause('vanished'), () => this.#openAgain());
  }

  async #close(): Promise<void> {
    const session = this.#session;
    this.#session = null;
    this.#tail.clear();
    await session?.close();
  }
}

/** The last bytes of a stream, in one block that is allocated at the first byte. */
class OutputTail {
  readonly #size: number;
  #block = new Uint8Array();
  #at = 0;
  #full = false;

  constructor(size: number) {
    this.#size = size;
  }

  push(bytes: Uint8Array): void {
    if (this.#block.length === 0) this.#block = new Uint8Array(this.#size);
    const last = bytes.subarray(-this.#size);
    const first = last.subarray(0, this.#size - this.#at);
    this.#block.set(first, this.#at);
    this.#block.set(last.subarray(first.length), 0);
    this.#full ||= this.#at + last.length >= this.#size;
    this.#at = (this.#at + last.length) % this.#size;
  }

  bytes(): Uint8Array {
    const newest = this.#block.subarray(0, this.#at);
    return this.#full ? Buffer.concat([this.#block.subarray(this.#at), newest]) : Uint8Array.from(newest);
  }

  clear(): void {
    [this.#block, this.#at, this.#full] = [new Uint8Array(), 0, false];
  }
}

const asBmcError = (error: unknown): BmcError =>
  error instanceof BmcError
    ? error
    : new BmcError('closed', error instanceof Error ? error.message : String(error), { cause: error });
