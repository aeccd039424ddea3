// curl as the reader of an event stream: it neither buffers nor reconnects.

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { SseReader } from '../../../appliance/cli/sse-reader.ts';

export interface StreamMessage {
  readonly event: string;
  readonly data: unknown;
}

export class CurlStream {
  readonly messages: StreamMessage[] = [];
  readonly #child: ChildProcess;
  readonly #reader = new SseReader();
  /** The exit code. */
  readonly ended: Promise<number | null>;
  text = '';

  constructor(url: string, token: string | null, args: readonly string[] = []) {
    const header = token === null ? [] : ['-H', `authorization: Bearer ${token}`];
    this.#child = spawn('curl', ['-sSN', ...header, ...args, url], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      this.text += chunk;
      for (const { event, data } of this.#reader.read(chunk)) this.messages.push({ event, data: JSON.parse(data) });
    });
    this.ended = once(this.#child, 'close').then(() => this.#child.exitCode);
  }

  get lastId(): string {
    return this.#reader.lastId;
  }

  named(event: string): unknown[] {
    return this.messages.filter((message) => message.event === event).map(({ data }) => data);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
