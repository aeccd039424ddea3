// A viewer of terminals over the socket of an appliance: what a web client would do, without the CLI.

import { once } from 'node:events';
import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'vitest';
import {
  FrameReader,
  frameBytes,
  TERMINAL_PROTOCOL,
  type TerminalFrame,
} from '../../appliance/contract/terminal-frames.ts';

export class TerminalClient {
  readonly stream: Duplex;
  readonly #reader = new FrameReader();
  readonly #bytes: Buffer[] = [];
  shownBytes = 0;
  exit: Extract<TerminalFrame, { kind: 'exit' }> | null = null;

  private constructor(stream: Duplex) {
    this.stream = stream;
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      for (const frame of this.#reader.push(chunk)) {
        if (frame.kind === 'exit') this.exit = frame;
        if (frame.kind !== 'data') continue;
        this.shownBytes += frame.bytes.length;
        this.#bytes.push(Buffer.from(frame.bytes));
      }
    });
  }

  /** Rejects with status and message of a refusal. */
  static async open(socketPath: string, node: string, query: Record<string, string> = {}): Promise<TerminalClient> {
    const path = `/api/v1/nodes/${node}/terminal?${new URLSearchParams(query)}`;
    const headers = { connection: 'Upgrade', upgrade: TERMINAL_PROTOCOL };
    const asked = request({ socketPath, path, headers });
    const { promise, resolve, reject } = Promise.withResolvers<TerminalClient>();
    asked.on('upgrade', (_answer, stream, head) => {
      if (head.length > 0) stream.unshift(head);
      resolve(new TerminalClient(stream));
    });
    asked.on(
      'response',
      (answer) => void text(answer).then((body) => reject(new Error(`${answer.statusCode} ${body}`))),
    );
    asked.on('error', reject);
    asked.end();
    return promise;
  }

  get shown(): string {
    return Buffer.concat(this.#bytes).toString();
  }

  type(keys: string | Uint8Array): void {
    this.stream.write(frameBytes({ kind: 'data', bytes: Buffer.from(keys as string) }));
  }

  resize(rows: number, columns: number): void {
    this.stream.write(frameBytes({ kind: 'resize', rows, columns }));
  }

  /** Waits until this was shown. */
  async shows(words: string | RegExp): Promise<void> {
    await expect.poll(() => this.shown, { timeout: 30_000, interval: 50 }).toMatch(words);
  }

  async ended(): Promise<{ status: number | null; reason: string }> {
    if (!this.stream.destroyed && this.exit === null) await once(this.stream, 'close');
    await expect.poll(() => this.exit, { timeout: 20_000 }).not.toBeNull();
    const { status = null, reason = '' } = this.exit ?? {};
    return { status, reason };
  }
}
