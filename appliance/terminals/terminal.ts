// One terminal between a viewer and a node: bytes in both directions, its time limits, and why it ended. Nobody is read faster than the
// other side takes it, so a slow reader costs no memory: the program on the node waits.

import { once } from 'node:events';
import type { Duplex, Readable, Writable } from 'node:stream';
import { BadFrame, FrameReader, frameBytes, type TerminalFrame, type WindowSize } from '../contract/terminal-frames.ts';
import type { AllocationId, UserName } from '../domain/allocation.ts';
import type { Origin } from '../domain/event.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Fingerprint } from '../store/enrollment-store.ts';
import type { TerminalSettings } from './settings.ts';

export interface TerminalAbout {
  readonly id: string;
  readonly machine: MachineId;
  readonly hostname: string;
  readonly allocation: AllocationId;
  readonly user: UserName;
  readonly origin: Origin;
}

interface Timer {
  readonly cancel: () => void;
}

export interface TerminalClock {
  readonly now: () => Instant;
  readonly setTimer: (delay: Instant, run: () => void) => Timer;
}

export interface TerminalEnd {
  readonly because: string;
  /** Of the shell; null: it did not end by itself. */
  readonly status: number | null;
}

/** The shell of the agent reads lines; short ones keep it and the appliance responsive while a large text is pasted. */
const KEYS_IN_LINE = 3 * 1024;
/** curl on the node ends a stream that stands still for half a minute. */
const KEEP_ALIVE_EVERY = 10 * SECOND;
const KEEP_ALIVE = `n ${'.'.repeat(29)}\n`;
/** The node reports the status after the last output. */
const STATUS_WITHIN = 5 * SECOND;
/** A viewer that does not read the last frame. */
const LAST_FRAME_WITHIN = 5 * SECOND;
const NODE_LEFT = 'the node closed the connection';

export class Terminal {
  readonly about: TerminalAbout;
  readonly #clock: TerminalClock;
  readonly #limits: Pick<TerminalSettings, 'idle' | 'longest'>;
  readonly #onOver: (terminal: Terminal) => void;
  readonly #both = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  #input: Writable | null = null;
  #output: Readable | null = null;
  #viewer: Duplex | null = null;
  #timers: Timer[] = [];
  #idle: Timer | null = null;
  #alive: Timer | null = null;
  #status: number | null = null;
  #outputDone = false;
  #end: TerminalEnd | null = null;
  /** The certificates that the node connected with. */
  readonly certificates = new Set<Fingerprint>();
  /** Set when it is recorded as opened. */
  openedAt: Instant | null = null;
  typedAt: Instant | null = null;
  firstOutputAt: Instant | null = null;
  typedBytes = 0;
  shownBytes = 0;

  constructor(
    about: TerminalAbout,
    clock: TerminalClock,
    limits: Pick<TerminalSettings, 'idle' | 'longest'>,
    onOver: (terminal: Terminal) => void,
  ) {
    this.about = about;
    this.#clock = clock;
    this.#limits = limits;
    this.#onOver = onOver;
  }

  /** Null: it is open, or being opened. */
  get over(): TerminalEnd | null {
    return this.#end;
  }

  /** Aborted when it is over. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Resolves when the node has connected both directions. */
  get connected(): Promise<void> {
    return this.#both.promise;
  }

  /** What the viewer types, to the node. False: this direction is taken; an id is good for one connection. */
  takeInput(input: Writable, certificate: Fingerprint): boolean {
    if (this.#end !== null || this.#input !== null) return false;
    this.#input = input;
    this.certificates.add(certificate);
    input.on('error', () => undefined);
    // After an ordinary end, the report is on its way.
    input.once('close', () => this.#later(STATUS_WITHIN, () => this.end(NODE_LEFT)));
    this.#connectedOne();
    return true;
  }

  /** What the node shows. Resolves when nothing more is read from it; null: this direction is taken. */
  takeOutput(output: Readable, certificate: Fingerprint): Promise<void> | null {
    if (this.#end !== null || this.#output !== null) return null;
    this.#output = output;
    this.certificates.add(certificate);
    output.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => {
      output.once('end', resolve);
      output.once('close', resolve);
      this.signal.addEventListener('abort', () => resolve());
    });
    this.#connectedOne();
    return closed;
  }

  #connectedOne(): void {
    if (this.#input !== null && this.#output !== null) this.#both.resolve();
  }

  /** The node says how the shell ended. */
  reportStatus(status: number): void {
    this.#status = status;
    if (this.#outputDone) this.#shellEnded();
  }

  /** Carries the bytes until the terminal is over. Call it after `connected`. */
  async carry(viewer: Duplex, size: WindowSize): Promise<TerminalEnd> {
    const [input, output] = [this.#input, this.#output];
    viewer.on('error', () => undefined);
    this.#viewer = viewer;
    if (this.#end !== null || input === null || output === null) {
      this.#sendEnd();
      return this.#end ?? { because: NODE_LEFT, status: null };
    }
    this.typedAt = this.#clock.now();
    this.#later(this.#limits.longest, () => this.end('it was open for the longest time that is allowed'));
    this.#watchIdle();
    input.write(`s ${size.rows} ${size.columns}\n`);
    this.#keepAlive(input);
    void this.#fromViewer(viewer, input);
    void this.#toViewer(output, viewer);
    await endOf(this.signal);
    return this.#end ?? { because: NODE_LEFT, status: null };
  }

  async #fromViewer(viewer: Duplex, input: Writable): Promise<void> {
    const reader = new FrameReader();
    try {
      for await (const chunk of viewer.iterator({ destroyOnReturn: false })) {
        for (const frame of reader.push(chunk as Uint8Array)) await this.#typed(frame, input);
      }
      this.end(VIEWER_LEFT);
    } catch (error) {
      this.end(error instanceof BadFrame ? `the viewer does not speak this protocol: ${error.message}` : VIEWER_LEFT);
    }
  }

  async #typed(frame: TerminalFrame, input: Writable): Promise<void> {
    if (this.#end !== null) return;
    if (frame.kind === 'exit') throw new BadFrame('only the appliance sends an exit frame');
    if (frame.kind === 'resize') return this.#send(input, `s ${frame.rows} ${frame.columns}\n`);
    this.typedBytes += frame.bytes.length;
    this.typedAt = this.#clock.now();
    for (let at = 0; at < frame.bytes.length; at += KEYS_IN_LINE) {
      const keys = Buffer.from(frame.bytes.subarray(at, at + KEYS_IN_LINE));
      await this.#send(input, `k ${keys.toString('base64')}\n`);
    }
  }

  async #send(stream: Writable, bytes: string | Uint8Array): Promise<void> {
    if (!stream.writable) return;
    if (!stream.write(bytes)) await once(stream, 'drain', { signal: this.signal }).catch(() => undefined);
  }

  async #toViewer(output: Readable, viewer: Duplex): Promise<void> {
    try {
      for await (const bytes of output.iterator({ destroyOnReturn: false })) {
        if (this.#end !== null) return;
        this.firstOutputAt ??= this.#clock.now();
        this.shownBytes += (bytes as Uint8Array).length;
        await this.#send(viewer, frameBytes({ kind: 'data', bytes: bytes as Uint8Array }));
      }
    } catch {
      this.end(NODE_LEFT);
      return;
    }
    this.#outputDone = true;
    if (this.#status !== null) this.#shellEnded();
    else this.#later(STATUS_WITHIN, () => this.end(NODE_LEFT));
  }

  #shellEnded(): void {
    this.end('the shell ended', this.#status);
  }

  #watchIdle(): void {
    if (this.#end !== null) return;
    const rest = (this.typedAt ?? 0) + this.#limits.idle - this.#clock.now();
    if (rest <= 0) this.end(`nothing was typed for ${Math.round(this.#limits.idle / SECOND)} s`);
    else this.#idle = this.#clock.setTimer(rest, () => this.#watchIdle());
  }

  #keepAlive(input: Writable): void {
    if (this.#end !== null) return;
    if (input.writable && !input.writableNeedDrain) input.write(KEEP_ALIVE);
    this.#alive = this.#clock.setTimer(KEEP_ALIVE_EVERY, () => this.#keepAlive(input));
  }

  #later(delay: Instant, run: () => void): void {
    if (this.#end === null) this.#timers.push(this.#clock.setTimer(delay, run));
  }

  /** Ends everything: the viewer gets the reason, and the node sees the end of its input. The first reason counts. */
  end(because: string, status: number | null = null): void {
    if (this.#end !== null) return;
    this.#end = { because, status };
    for (const timer of [...this.#timers, this.#idle, this.#alive]) timer?.cancel();
    this.#both.promise.catch(() => undefined);
    this.#both.reject(new Error(because));
    this.#input?.end();
    if (this.#output && !this.#output.readableEnded) this.#output.destroy();
    this.#stop.abort();
    this.#sendEnd();
    this.#onOver(this);
  }

  #sendEnd(): void {
    const [viewer, end] = [this.#viewer, this.#end];
    if (!viewer || !end || !viewer.writable) return;
    viewer.end(frameBytes({ kind: 'exit', status: end.status, reason: end.because }));
    const tooSlow = this.#clock.setTimer(LAST_FRAME_WITHIN, () => viewer.destroy());
    viewer.once('close', () => tooSlow.cancel());
  }
}

const VIEWER_LEFT = 'the viewer left';

const endOf = (signal: AbortSignal): Promise<unknown> | undefined =>
  signal.aborted ? undefined : once(signal, 'abort');
