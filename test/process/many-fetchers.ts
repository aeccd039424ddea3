// Machines that fetch a boot file at their own pace, and the descriptors that an appliance holds meanwhile: proc(5).

import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

const END_OF_HEAD = '\r\n\r\n';
/** Shared: each read finishes before the next starts. */
const READING = Buffer.alloc(64 * 1024);

/** One machine. It reads only on request, and compares everything with the file. */
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
    // A reset connection, from either side, just ends.
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

  /** Its own port. */
  get port(): number {
    return this.#socket.localPort ?? 0;
  }

  get hasAll(): boolean {
    return this.#taken === this.#file.length;
  }

  /** Closed by either side. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Reads until it has this many bytes of the file, or the end. */
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

  /** Reads in portions with pauses: a machine with a slow link. */
  async takeSlowly(bytes: number, portion: number, pauseMs: number): Promise<void> {
    while (this.#taken < bytes && !this.#isOver) {
      await this.takeUntil(this.#taken + portion);
      await setTimeout(pauseMs);
    }
  }

  /** Half-closes its side. */
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

  /** False: no more data for now. */
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

/** Mappings of boot files. */
export function bytesInMemory(pid: number): number {
  const files = descriptorsOf(pid).filter(({ leadsTo }) => leadsTo.startsWith(IN_MEMORY));
  return files.reduce((sum, { path }) => sum + statSync(path).blocks * BLOCK, 0);
}

/** Descriptors of connections and of boot files, without those of the store and of Node itself. */
export const heldFor = (pid: number): number =>
  descriptorsOf(pid).filter(({ leadsTo }) => /^socket:|^\/memfd:boot-file|\/assets\//.test(leadsTo)).length;

const ESTABLISHED = '01';

/** Which of these ports have a connection that the process has accepted and that neither side has closed. */
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
