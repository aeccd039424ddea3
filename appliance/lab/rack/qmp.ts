// QEMU Machine Protocol: JSON, one object per line. QEMU connects to us, so that the connection exists from its start.

import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { ColdironError } from '../../domain/errors.ts';

interface PendingCommand {
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
  readonly #pending = new Map<number, PendingCommand>();
  readonly #onEvent: (event: string) => void;
  #next = 1;
  #over = false;

  private constructor(socket: Socket, onEvent: (event: string) => void) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    // When the machine loses power, the connection may break in the middle of a line: that is its end, not an error.
    createInterface({ input: socket })
      .on('line', (line) => this.#onLine(line))
      .on('error', () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#end());
  }

  /** Leaves the capabilities negotiation mode, in which every connection starts. */
  static async begin(socket: Socket, onEvent: (event: string) => void): Promise<Qmp> {
    const qmp = new Qmp(socket, onEvent);
    await qmp.execute('qmp_capabilities');
    return qmp;
  }

  execute(command: string, args: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    if (this.#over) return Promise.reject(machineOff(command));
    const id = this.#next;
    this.#next += 1;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    this.#pending.set(id, { resolve, reject });
    this.#socket.write(`${JSON.stringify({ execute: command, arguments: args, id })}\n`);
    return promise;
  }

  #onLine(line: string): void {
    const message = parse(line);
    if (message.event !== undefined) this.#onEvent(message.event);
    const pending = message.id === undefined ? undefined : this.#pending.get(message.id);
    if (message.id === undefined || !pending) return;
    this.#pending.delete(message.id);
    if (message.error) pending.reject(new ColdironError('service_unavailable', `QEMU: ${message.error.desc}`));
    else pending.resolve(message.return);
  }

  #end(): void {
    this.#over = true;
    for (const { reject } of this.#pending.values()) reject(machineOff('a command'));
    this.#pending.clear();
  }
}

/** The socket that one machine's QEMU connects to at each start. */
export async function listenForQemu(path: string, onConnection: (socket: Socket) => void): Promise<Server> {
  await rm(path, { force: true });
  const server = createServer(onConnection).listen(path);
  await once(server, 'listening');
  return server;
}

const machineOff = (what: string): ColdironError =>
  new ColdironError('service_unavailable', `the machine went off before QEMU completed ${what}`);

function parse(line: string): QmpMessage {
  try {
    return JSON.parse(line);
  } catch {
    return {};
  }
}
