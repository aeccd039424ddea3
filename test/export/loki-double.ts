// What Loki's push endpoint promises (its HTTP API reference), as far as a client can see it: one tenant per header, streams by their
// labels, entries by nanosecond and line, stored once when they arrive twice, 204 when all were taken, 400 with a text otherwise.

import type { ServerResponse } from 'node:http';
import type { ReceivedRequest } from './http-receiver.ts';

interface Entry {
  readonly time: string;
  readonly line: string;
  readonly metadata: Readonly<Record<string, string>>;
}

const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;
const MOST_LABELS = 15;

export class LokiDouble {
  readonly #streams = new Map<string, Map<string, Entry>>();
  readonly authorization = new Set<string | undefined>();

  /** Every stored line, by time. */
  get lines(): readonly Record<string, unknown>[] {
    return this.entries.map(({ line }) => JSON.parse(line) as Record<string, unknown>);
  }

  get entries(): readonly Entry[] {
    return [...this.#streams.values()]
      .flatMap((stream) => [...stream.values()])
      .sort((a, b) => (BigInt(a.time) < BigInt(b.time) ? -1 : 1));
  }

  get streams(): readonly Record<string, string>[] {
    return [...this.#streams.keys()].map((key) => JSON.parse(key) as Record<string, string>);
  }

  readonly answer = (request: ReceivedRequest, response: ServerResponse): void => {
    const problem = this.#take(request);
    if (problem === null) response.writeHead(204).end();
    else response.writeHead(400, { 'content-type': 'text/plain' }).end(problem);
  };

  #take({ path, headers, body }: ReceivedRequest): string | null {
    if (path !== '/loki/api/v1/push') return `unknown path ${path}`;
    if (headers['content-type'] !== 'application/json') return 'unsupported content type';
    this.authorization.add(headers.authorization);
    const { streams } = JSON.parse(body) as { streams: { stream: Record<string, string>; values: unknown[][] }[] };
    for (const { stream, values } of streams) {
      const names = Object.keys(stream);
      if (names.length === 0) return 'error at least one label pair is required per stream';
      if (names.length > MOST_LABELS) return 'max label names per series exceeded';
      if (!names.every((name) => LABEL_NAME.test(name) && typeof stream[name] === 'string')) return 'invalid labels';
      const key = JSON.stringify(Object.fromEntries(Object.entries(stream).sort()));
      const kept = this.#streams.get(key) ?? new Map<string, Entry>();
      for (const [time, line, metadata = {}] of values) {
        if (typeof time !== 'string' || !/^\d{19}$/.test(time)) return `invalid timestamp ${String(time)}`;
        if (typeof line !== 'string') return 'a line must be text';
        if (!Object.values(metadata as object).every((value) => typeof value === 'string')) return 'invalid metadata';
        kept.set(`${time} ${line}`, { time, line, metadata: metadata as Record<string, string> });
      }
      this.#streams.set(key, kept);
    }
    return null;
  }
}
