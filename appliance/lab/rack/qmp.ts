// QEMU Machine Protocol: JSON, one object a line. QEMU calls us, so that there is somebody to talk to from its first moment.

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { ColdironError } from '../../domain/errors.ts';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface QmpMessage {
  readonly id?: number;
  readonly return?: unknown;
  readonly error?: { readonly desc: string };
  readonly event?: string;
}

export class Qmp {
  readonly #socket: Socket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEvent: (event: string) => void;
  #next = 1;
  #over = false;

  private constructor(socket: Socket, onEvent: (event: string) => void) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    // A machine that loses its power leaves in the middle of a word: that is its end, and no failure.
    createInterface({ input: socket })
      .on('line', (line) => this.#heard(line))
      .on('error', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
  }

  /** Leaves the negotiation mode that every conversation begins in. */
  static async begin(socket: Socket, onEvent: (event: string) => void): Promise<Qmp> {
    const qmp = new Qmp(socket, onEvent);
    await qmp.execute('qmp_capabilities');
    return qmp;
  }

  execute(command: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    if (this.#over) return Promise.reject(gone(command));
    const id = this.#next;
    this.#next += 1;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#waiting.set(id, { resolve, reject });
    this.#socket.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`);
    return promise;
  }

  #heard(line: string): void {
    const message = parse(line);
    if (message.event !== undefined) this.#onEvent(message.event);
    const waiting = message.id === undefined ? undefined : this.#waiting.get(message.id);
    if (message.id === undefined || !waiting) return;
    this.#waiting.delete(message.id);
    if (message.error) waiting.reject(new ColdironError('service_unavailable', `QEMU: ${message.error.desc}`));
    else waiting.resolve(message.return);
  }

  #end(): void {
    this.#over = true;
    for (const { reject } of this.#waiting.values()) reject(gone('an order'));
    this.#waiting.clear();
  }
}

/** Where one machine's QEMU calls, each time it is started. */
export async function listenForQemu(path: string, called: (socket: Socket) => void): Promise<Server> {
  await rm(path, { force: true });
  const server = createServer(called).listen(path);
  await once(server, 'listening');
  return server;
}

const gone = (what: string): ColdironError =>
  new ColdironError('service_unavailable', `the machine went off before QEMU did ${what}`);

function parse(line: string): QmpMessage {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
