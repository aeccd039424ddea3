// The verb `mcp`: a bridge between an MCP client that speaks over standard input and output and the /mcp endpoint of an appliance. It
// passes messages on, and adds only what HTTP needs: headers, and the end of a request that was cancelled.

import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { MCP_PATH } from '../mcp/mcp-path.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { jsonText } from './terminal.ts';

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: {
    readonly name?: string;
    readonly uri?: string;
    readonly requestId?: string | number;
    readonly _meta?: Readonly<Record<string, unknown>>;
  };
  readonly result?: { readonly protocolVersion?: string };
}

const VERSION_KEY = 'io.modelcontextprotocol/protocolVersion';
/** JSON-RPC leaves these codes to the implementation. */
const NOT_PASSED_ON = -32_000;

export async function bridge(options: ConnectionOptions): Promise<void> {
  const bridge = new Bridge(await connect(options), (line) => void process.stdout.write(`${line}\n`));
  for await (const line of createInterface({ input: process.stdin })) {
    if (line.trim() !== '') bridge.pass(line);
  }
  await bridge.end();
}

export class Bridge {
  readonly #connection: Connection;
  readonly #write: (line: string) => void;
  readonly #running = new Map<string | number, AbortController>();
  readonly #passing = new Set<Promise<void>>();
  /** What `initialize` agreed on; later revisions name it in each message. */
  #version: string | null = null;

  constructor(connection: Connection, write: (line: string) => void) {
    this.#connection = connection;
    this.#write = write;
  }

  pass(line: string): void {
    const message = parsed(line);
    if (message?.method === 'notifications/cancelled') {
      this.#running.get(message.params?.requestId ?? '')?.abort();
      return;
    }
    const passing = this.#pass(line, message).finally(() => this.#passing.delete(passing));
    this.#passing.add(passing);
  }

  /** The client has closed its end: what still runs is finished, and streams without an end are closed. */
  async end(): Promise<void> {
    const patience = setTimeout(() => {
      for (const running of this.#running.values()) running.abort();
    }, END_WITHIN_MS);
    await Promise.all(this.#passing);
    clearTimeout(patience);
  }

  async #pass(line: string, message: Message | null): Promise<void> {
    const control = new AbortController();
    const id = message?.id;
    if (id !== undefined) this.#running.set(id, control);
    try {
      const headers = { accept: 'application/json, text/event-stream', ...this.#headersFor(message) };
      await this.#answer(await this.#connection.post(MCP_PATH, line, headers, control.signal), id);
    } catch (error) {
      if (!control.signal.aborted) this.#fail(id, error instanceof Error ? error.message : String(error));
    } finally {
      if (id !== undefined) this.#running.delete(id);
    }
  }

  #headersFor(message: Message | null): Record<string, string> {
    const { _meta, name, uri } = message?.params ?? {};
    const own = _meta?.[VERSION_KEY];
    const version = typeof own === 'string' ? own : this.#version;
    const subject = name ?? uri;
    return {
      ...(version !== null && { 'mcp-protocol-version': version }),
      ...(typeof own === 'string' && message?.method !== undefined && { 'mcp-method': message.method }),
      ...(typeof own === 'string' && subject !== undefined && { 'mcp-name': encodeURI(subject) }),
    };
  }

  async #answer(answer: IncomingMessage, id: string | number | undefined): Promise<void> {
    if (answer.headers['content-type']?.startsWith('text/event-stream')) {
      for await (const data of eventsOf(answer)) this.#forward(data);
      return;
    }
    const body = await text(answer);
    if (body === '') return;
    const message = parsed(body);
    if (message && 'jsonrpc' in message) return this.#forward(body);
    // The error of a route, not of the protocol: a wrong token, for example.
    const { code, message: words } = (message ?? {}) as { readonly code?: string; readonly message?: string };
    this.#fail(id, `${code ?? answer.statusCode}: ${words ?? 'the server does not answer as Coldiron does'}`);
  }

  #forward(text: string): void {
    const message = parsed(text);
    if (message === null) return;
    this.#version = message.result?.protocolVersion ?? this.#version;
    this.#write(jsonText(message));
  }

  #fail(id: string | number | undefined, reason: string): void {
    if (id === undefined) process.stderr.write(`${reason}\n`);
    else this.#write(jsonText({ jsonrpc: '2.0', id, error: { code: NOT_PASSED_ON, message: reason } }));
  }
}

const END_WITHIN_MS = 2000;

function parsed(line: string): Message | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Message) : null;
  } catch {
    return null;
  }
}

/** The data of server-sent events. */
async function* eventsOf(stream: IncomingMessage): AsyncGenerator<string> {
  let data: string[] = [];
  for await (const line of createInterface({ input: stream })) {
    if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
    else if (line === '') {
      if (data.length > 0) yield data.join('\n');
      data = [];
    }
  }
  if (data.length > 0) yield data.join('\n');
}
