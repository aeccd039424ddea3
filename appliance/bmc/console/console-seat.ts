// One place at a shared console. A seat has its own bounded buffer, so that nobody waits for a slow reader.

import type { BmcConsole } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import { ReceivedOutput } from '../ipmi/received-output.ts';

/** Six minutes of output on a serial line; a viewer that is further behind is not reading. */
const MOST_UNREAD = 4 * 1024 * 1024;
/** For a seat that loses output instead of being closed. */
const MOST_UNREAD_LOSSY = 256 * 1024;

export interface SeatOptions {
  /** Who sits there, for messages. */
  readonly who: string;
  /** Whether the seat types. */
  readonly writes: boolean;
  /** Output that is not read in time is lost and counted; otherwise the seat is closed. */
  readonly lossy: boolean;
}

export class ConsoleSeat implements BmcConsole {
  readonly who: string;
  readonly lossy: boolean;
  /** Taken away when another seat takes the typing over. */
  writes: boolean;
  readonly #type: (seat: ConsoleSeat, characters: Uint8Array) => void;
  readonly #leave: (seat: ConsoleSeat) => void;
  readonly #output: ReceivedOutput;
  #lost = 0;

  constructor(
    { who, writes, lossy }: SeatOptions,
    type: (seat: ConsoleSeat, characters: Uint8Array) => void,
    leave: (seat: ConsoleSeat) => void,
  ) {
    this.who = who;
    this.writes = writes;
    this.lossy = lossy;
    this.#type = type;
    this.#leave = leave;
    this.#output = new ReceivedOutput(lossy ? MOST_UNREAD_LOSSY : MOST_UNREAD);
  }

  /** Dropped when this seat does not type. */
  write(characters: Uint8Array): void {
    if (!this.#output.ended && this.writes) this.#type(this, characters);
  }

  async close(): Promise<void> {
    this.end(null);
  }

  /** The number of bytes that were lost since the last call. */
  takeLost(): number {
    const lost = this.#lost;
    this.#lost = 0;
    return lost;
  }

  deliver(bytes: Uint8Array): void {
    if (this.#output.ended || this.#output.push(bytes)) return;
    if (this.lossy) this.#lost += bytes.length;
    else this.end(new BmcError('closed', 'the console was closed because its client does not read the output'));
  }

  /** For a person: a line between the output of the machine. */
  notice(words: string): void {
    if (!this.lossy) this.deliver(new TextEncoder().encode(`\r\n[coldiron: ${words}]\r\n`));
  }

  end(error: BmcError | null): void {
    if (this.#output.ended) return;
    this.#output.end(error);
    this.#leave(this);
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#output[Symbol.asyncIterator]();
  }
}
