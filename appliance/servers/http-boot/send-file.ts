// sendfile(2) on the sockets that Node answers on: the kernel takes the pages as they are, where a write copies them first.
// It runs in Node's thread pool, so that the work of the network stack spreads over the processors and the event loop stays
// free for scripts. Node itself writes a little whenever a socket is full: only Node can tell when it has room again.

import type { ServerResponse } from 'node:http';
import koffi from 'koffi';
import type { MemoryFile } from './memory-file.ts';

/** What one call takes at most; whoever has had it queues again behind the others. */
const TURN = 4 * 1024 * 1024;
/** What Node writes: enough for headers and beginning to leave together, little enough for the copy not to matter. */
const PIECE = 16 * 1024;

/** Koffi refuses more than 256 calls at once, running or waiting, and Node's pool has four threads to run them in. */
const MOST_CALLS = 64;

interface CLibrary {
  /** For calls that run beside each other. */
  readonly turns: Turns;
  dup(descriptor: number): number;
  close(descriptor: number): number;
  sendfile: {
    async(
      to: number,
      from: number,
      offset: Buffer,
      count: number,
      done: (error: Error | null, sent: number) => void,
    ): void;
  };
}

let library: CLibrary | null = null;

function cLibrary(): CLibrary {
  const c = koffi.load(null);
  library ??= {
    turns: new Turns(MOST_CALLS),
    dup: c.func('int dup(int descriptor)'),
    close: c.func('int close(int descriptor)'),
    sendfile: c.func('int64_t sendfile(int out, int in, uint8_t *offset, size_t count)'),
  };
  return library;
}

/**
 * A descriptor of our own for the socket of the answer; whoever takes it closes it. Node may close its own while a call is
 * under way, and the number would be somebody else's connection. Null: there is no socket that the kernel can write to as it is.
 */
export function ownDescriptor(response: ServerResponse): number | null {
  const handle = (response.socket as { readonly _handle?: { readonly fd?: number } | null } | null)?._handle;
  if (handle?.fd === undefined || handle.fd < 0) return null;
  const descriptor = cLibrary().dup(handle.fd);
  return descriptor < 0 ? null : descriptor;
}

/** How many bytes the kernel took before the end, or before the client went away. Closes `socket`. */
export async function sendFromMemory(
  response: ServerResponse,
  socket: number,
  file: MemoryFile,
  start: number,
  end: number,
): Promise<number> {
  const transfer = new Transfer(response, socket, file, end);
  const onClose = (): void => transfer.clientLeft();
  response.once('close', onClose);
  try {
    return (await transfer.run(start)) - start;
  } finally {
    response.off('close', onClose);
    cLibrary().close(socket);
  }
}

class Transfer {
  readonly #response: ServerResponse;
  readonly #socket: number;
  readonly #file: MemoryFile;
  readonly #end: number;
  readonly #offset = Buffer.alloc(8);
  #gone: boolean;
  #wake: () => void = () => undefined;

  constructor(response: ServerResponse, socket: number, file: MemoryFile, end: number) {
    this.#response = response;
    this.#socket = socket;
    this.#file = file;
    this.#end = end;
    this.#gone = response.destroyed;
  }

  clientLeft(): void {
    this.#gone = true;
    this.#wake();
  }

  /** Returns where it ended. */
  async run(start: number): Promise<number> {
    let at = start;
    while (at < this.#end && !this.#gone) {
      at += await this.#write(at);
      // Behind a write of Node's that still waits, ours would overtake it.
      while (at < this.#end && !this.#gone && this.#response.writableLength === 0) {
        const sent = await this.#send(at);
        // Full, or broken: the next write waits for the one and finds out about the other.
        if (sent <= 0) break;
        at += sent;
      }
    }
    return at;
  }

  /** Settles when the kernel has taken it: then there is room again. */
  #write(at: number): Promise<number> {
    const piece = this.#file.peek(Math.min(PIECE, this.#end - at), at);
    return new Promise((resolve) => {
      this.#wake = () => resolve(0);
      this.#response.write(piece, (error) => resolve(error ? 0 : piece.length));
    });
  }

  async #send(at: number): Promise<number> {
    const { turns } = cLibrary();
    await turns.take();
    try {
      return this.#gone ? 0 : await this.#sendNow(at);
    } finally {
      turns.giveBack();
    }
  }

  #sendNow(at: number): Promise<number> {
    this.#offset.writeBigInt64LE(BigInt(at));
    const count = Math.min(TURN, this.#end - at);
    return new Promise((resolve, reject) => {
      cLibrary().sendfile.async(this.#socket, this.#file.descriptor, this.#offset, count, (error, sent) =>
        error ? reject(error) : resolve(sent),
      );
    });
  }
}

/** So many at a time; the others wait in the order in which they came. */
class Turns {
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#free += 1;
  }
}
