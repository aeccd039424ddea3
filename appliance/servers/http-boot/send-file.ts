// sendfile(2) on Node's response sockets: the kernel uses the pages directly, where a write copies them first. It runs in
// Node's thread pool, so that the network stack uses all processors and the event loop stays free for scripts. When a socket
// is full, Node itself writes a small piece, because only Node is notified when the socket is writable again.

import type { ServerResponse } from 'node:http';
import koffi from 'koffi';
import type { MemoryFile } from './memory-file.ts';

/** The most bytes per call; then the transfer queues again behind the others. */
const TURN = 4 * 1024 * 1024;
/** Bytes that Node writes: enough to send headers and first data together, few enough that the copy does not matter. */
const PIECE = 16 * 1024;

/** Koffi refuses more than 256 concurrent calls, running or queued, and Node's pool has four threads. */
const MOST_CALLS = 64;

interface CLibrary {
  /** Limits concurrent calls. */
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
 * A duplicate descriptor of the response socket; the caller closes it. Node may close its own while a call is under way, and
 * the number could then be reused for another connection. Null: there is no plain socket that the kernel can write to.
 */
export function ownDescriptor(response: ServerResponse): number | null {
  const handle = (response.socket as { readonly _handle?: { readonly fd?: number } | null } | null)?._handle;
  if (handle?.fd === undefined || handle.fd < 0) return null;
  const descriptor = cLibrary().dup(handle.fd);
  return descriptor < 0 ? null : descriptor;
}

/** How many bytes the kernel accepted before the end, or before the client disconnected. Closes `socket`. */
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

  /** Returns the offset where it ended. */
  async run(start: number): Promise<number> {
    let at = start;
    while (at < this.#end && !this.#gone) {
      at += await this.#write(at);
      // Our call would overtake a write that Node has still queued.
      while (at < this.#end && !this.#gone && this.#response.writableLength === 0) {
        const sent = await this.#send(at);
        // The socket is full or broken: the next write waits for space, or fails.
        if (sent <= 0) break;
        at += sent;
      }
    }
    return at;
  }

  /** Resolves when the kernel has accepted the piece: then the socket has space again. */
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

/** A semaphore; waiters are served in order of arrival. */
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
