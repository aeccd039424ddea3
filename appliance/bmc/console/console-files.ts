// What the machines said on their consoles, in files: two for each machine, its current boot and the one before.
//
// Files and not the store: the text is long, arrives all the time and may be lost in a crash, and a commit of the store waits for the
// disk. A writer keeps a few seconds in memory and appends them in one write. A file that grows over its limit loses its beginning.

import { constants } from 'node:fs';
import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Instant, SECOND } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import { readRegularFile, replaceFile } from '../../files/whole-files.ts';
import type { BmcClock } from '../clock.ts';

export interface ConsoleLine {
  readonly at: Instant;
  readonly text: string;
}

export type ConsoleBoot = 'current' | 'previous';

interface Log {
  warn(fields: object, message: string): void;
}

const MODE = 0o600;
/** Of one boot. A whole boot of the service OS is about 50 KiB. */
const MOST_BYTES = 128 * 1024;
/** What stays of a file that is full. */
const KEPT_BYTES = 96 * 1024;
const FLUSH_AFTER = 2 * SECOND;
const FLUSH_BYTES = 16 * 1024;
/** Of one writer while the disk does not accept more. */
const MOST_WAITING = 128 * 1024;

export class ConsoleFiles {
  readonly #folder: string;
  readonly #clock: BmcClock;
  readonly #log: Log;
  readonly #writers = new Map<MachineId, ConsoleWriter>();

  /** The folder exists, and only its owner may use it. */
  constructor(folder: string, clock: BmcClock, log: Log) {
    this.#folder = folder;
    this.#clock = clock;
    this.#log = log;
  }

  /** One for each machine. */
  writer(machine: MachineId): ConsoleWriter {
    const known = this.#writers.get(machine);
    if (known) return known;
    const report = (error: unknown): void =>
      this.#log.warn({ err: error, machine }, 'what a machine says on its console cannot be stored');
    const writer = new ConsoleWriter(
      this.#path(machine, 'current'),
      this.#path(machine, 'previous'),
      this.#clock,
      report,
    );
    this.#writers.set(machine, writer);
    return writer;
  }

  /** The last lines, the oldest first. */
  async read(machine: MachineId, boot: ConsoleBoot, most: number): Promise<ConsoleLine[]> {
    await this.#writers.get(machine)?.flush();
    const content = await readRegularFile(this.#path(machine, boot), MOST_BYTES + MOST_WAITING + FLUSH_BYTES);
    return (content?.toString('utf8') ?? '').split('\n').flatMap(parsedLine).slice(-most);
  }

  /** Writes what is waiting and forgets the writer. */
  async release(machine: MachineId): Promise<void> {
    const writer = this.#writers.get(machine);
    this.#writers.delete(machine);
    await writer?.flush();
  }

  async remove(machine: MachineId): Promise<void> {
    await this.release(machine);
    for (const boot of ['current', 'previous'] as const) await rm(this.#path(machine, boot), { force: true });
  }

  /** Deletes the files of other machines than these, and those that were last written before this time. */
  async sweep(known: (machine: string) => boolean, before: Instant): Promise<number> {
    let removed = 0;
    for (const name of await readdir(this.#folder)) {
      const path = join(this.#folder, name);
      const [machine = ''] = name.split('.');
      if (this.#writers.has(machine as MachineId)) continue;
      const written = await stat(path).catch(() => null);
      if (written === null || (known(machine) && written.mtimeMs >= before)) continue;
      await rm(path, { force: true, recursive: false });
      removed += 1;
    }
    return removed;
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#writers.keys(), (machine) => this.release(machine)));
  }

  #path(machine: MachineId, boot: ConsoleBoot): string {
    return join(this.#folder, boot === 'current' ? `${machine}.log` : `${machine}.previous.log`);
  }
}

function parsedLine(line: string): ConsoleLine[] {
  const space = line.indexOf(' ');
  const at = Number(line.slice(0, space));
  return space > 0 && Number.isSafeInteger(at) ? [{ at, text: line.slice(space + 1) }] : [];
}

/** Lines in order, and `null` where another boot begins. */
type Waiting = string | null;

export class ConsoleWriter {
  readonly #current: string;
  readonly #previous: string;
  readonly #clock: BmcClock;
  readonly #report: (error: unknown) => void;
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #dropped = 0;
  #size: number | null = null;
  #failed = false;
  #cancelFlush: (() => void) | null = null;
  #turn: Promise<void> = Promise.resolve();

  constructor(current: string, previous: string, clock: BmcClock, report: (error: unknown) => void) {
    this.#current = current;
    this.#previous = previous;
    this.#clock = clock;
    this.#report = report;
  }

  add({ at, text }: ConsoleLine): void {
    if (this.#waitingBytes > MOST_WAITING) {
      this.#dropped += 1;
      return;
    }
    this.#push(`${at} ${text}\n`);
    if (this.#waitingBytes >= FLUSH_BYTES) void this.flush();
    else this.#cancelFlush ??= this.#clock.wakeAt(at + FLUSH_AFTER, () => void this.flush());
  }

  /** The lines that follow are of another boot. */
  beginBoot(): void {
    this.#waiting.push(null);
  }

  #push(line: string): void {
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
  }

  /** Resolves when everything before is in the file, or was given up. Never rejects. */
  flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = null;
    this.#turn = this.#turn.then(() => this.#write());
    return this.#turn;
  }

  async #write(): Promise<void> {
    if (this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    if (this.#dropped > 0)
      waiting.push(`${this.#clock.now()} [coldiron: ${this.#dropped} lines were not stored in time]\n`);
    [this.#waiting, this.#waitingBytes, this.#dropped] = [[], 0, 0];
    try {
      let from = 0;
      for (let at = waiting.indexOf(null); at !== -1; at = waiting.indexOf(null, from)) {
        await this.#append(waiting.slice(from, at).join(''));
        await this.#rotate();
        from = at + 1;
      }
      await this.#append(waiting.slice(from).join(''));
      this.#failed = false;
    } catch (error) {
      // The lines are lost: a full disk must not fill the memory too.
      if (!this.#failed) this.#report(error);
      this.#failed = true;
      this.#size = null;
    }
  }

  async #append(text: string): Promise<void> {
    if (text === '') return;
    const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
    const file = await open(this.#current, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, MODE);
    try {
      this.#size ??= (await file.stat()).size;
      await file.appendFile(text);
      this.#size += Buffer.byteLength(text);
    } finally {
      await file.close();
    }
    if (this.#size > MOST_BYTES) await this.#shorten();
  }

  /** Keeps the end, in whole lines. */
  async #shorten(): Promise<void> {
    const content = await readRegularFile(this.#current, Number.MAX_SAFE_INTEGER);
    if (content === null) return;
    const from = content.indexOf(0x0a, Math.max(0, content.length - KEPT_BYTES));
    const kept = content.subarray(from + 1).toString('utf8');
    await replaceFile(this.#current, kept, MODE);
    this.#size = Buffer.byteLength(kept);
  }

  async #rotate(): Promise<void> {
    await rename(this.#current, this.#previous).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    this.#size = 0;
  }
}
