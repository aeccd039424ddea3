// Machines that fetch a boot file at paces of their own, and what an appliance holds open meanwhile: proc(5).

import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

const END_OF_HEAD = '\r\n\r\n';
/** Shared: each reading is over before the next begins. */
const READING = Buffer.alloc(64 * 1024);

/** One machine. It reads only when it is told to, and compares all that it reads with the file. */
export class Fetcher {
  readonly #socket: Socket;
  readonly #file: Buffer;
  readonly #request: string;
  #head = '';
  #taken = 0;
  #goal = 0;
  #isOver = false;
  #reached: () => void = () => undefined;
  #trouble: Error | null = null;

  constructor(url: URL, file: Buffer) {
    this.#file = file;
    this.#socket = connect({
      host: url.hostname,
      port: Number(url.port),
      onread: { buffer: READING, callback: (length, bytes) => this.#onRead(Buffer.from(bytes.buffer, 0, length)) },
    });
    // A connection that is reset, from here or from there, is over, and that is all.
    this.#socket.on('error', () => undefined);
    for (const event of ['end', 'close']) this.#socket.once(event, () => this.#end());
    this.#request = `GET ${url.pathname} HTTP/1.1\r\nHost: ${url.host}\r\nConnection: close\r\n\r\n`;
  }

  async connected(): Promise<void> {
    if (this.#socket.connecting) await once(this.#socket, 'connect');
  }

  ask(): void {
    this.#socket.write(this.#request);
  }

  /** Its own. */
  get port(): number {
    return this.#socket.localPort ?? 0;
  }

  get hasAll(): boolean {
    return this.#taken === this.#file.length;
  }

  /** The other side has ended it, or this one has left. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Until it has so many bytes of the file, or there are no more. */
  async takeUntil(bytes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#goal = bytes;
    this.#reached = resolve;
    if (this.#taken >= bytes || this.#isOver) resolve();
    else this.#socket.resume();
    await promise;
    if (this.#trouble) throw this.#trouble;
  }

  async takeAll(): Promise<void> {
    await this.takeUntil(Number.POSITIVE_INFINITY);
  }

  /** A portion, a pause, a portion: a machine with a slow line. */
  async takeSlowly(bytes: number, portion: number, pauseMs: number): Promise<void> {
    while (this.#taken < bytes && !this.#isOver) {
      await this.takeUntil(this.#taken + portion);
      await setTimeout(pauseMs);
    }
  }

  /** It has said all that it wanted to say. */
  halfClose(): void {
    this.#socket.end();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }

  leave(): void {
    this.#socket.destroy();
  }

  #end(): void {
    this.#isOver = true;
    this.#reached();
  }

  /** False: no more of it for now. */
  #onRead(bytes: Buffer): boolean {
    const body = this.#bodyOf(bytes);
    if (!body.equals(this.#file.subarray(this.#taken, this.#taken + body.length))) {
      this.#trouble ??= new Error(`after byte ${this.#taken} came something else than the file has there`);
    }
    this.#taken += body.length;
    if (this.#taken < this.#goal) return true;
    this.#reached();
    return false;
  }

  #bodyOf(bytes: Buffer): Buffer {
    if (this.#head.endsWith(END_OF_HEAD)) return bytes;
    const before = this.#head.length;
    const text = this.#head + bytes.toString('latin1');
    const end = text.indexOf(END_OF_HEAD);
    this.#head = end === -1 ? text : text.slice(0, end + END_OF_HEAD.length);
    if (end !== -1 && !text.startsWith('HTTP/1.1 200 ')) this.#trouble = new Error(`the answer is ${this.#head}`);
    return bytes.subarray(this.#head.length - before);
  }
}

interface Descriptor {
  readonly path: string;
  readonly leadsTo: string;
}

function descriptorsOf(pid: number): Descriptor[] {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).flatMap((name) => {
    const path = `${folder}/${name}`;
    try {
      return [{ path, leadsTo: readlinkSync(path) }];
    } catch {
      // It was closed meanwhile.
      return [];
    }
  });
}

const IN_MEMORY = '/memfd:boot-file';
const BLOCK = 512;

/** Of boot files. */
export function bytesInMemory(pid: number): number {
  const files = descriptorsOf(pid).filter(({ leadsTo }) => leadsTo.startsWith(IN_MEMORY));
  return files.reduce((sum, { path }) => sum + statSync(path).blocks * BLOCK, 0);
}

/** Descriptors of connections and of boot files: neither the store's, nor those that Node has for itself. */
export const heldFor = (pid: number): number =>
  descriptorsOf(pid).filter(({ leadsTo }) => /^socket:|^\/memfd:boot-file|\/assets\//.test(leadsTo)).length;

const ESTABLISHED = '01';

/** Which of these have a connection that a process has accepted and that neither side has ended. */
export function connectedTo(pid: number, machines: readonly Fetcher[]): number {
  const held = new Set(descriptorsOf(pid).map(({ leadsTo }) => leadsTo));
  const peers = new Set<number>();
  for (const line of readFileSync(`/proc/${pid}/net/tcp`, 'latin1').split('\n')) {
    const [, , remote, state, , , , , , inode] = line.trim().split(/\s+/);
    if (state === ESTABLISHED && held.has(`socket:[${inode}]`))
      peers.add(Number.parseInt(remote?.split(':')[1] ?? '', 16));
  }
  return machines.filter(({ port }) => peers.has(port)).length;
}
