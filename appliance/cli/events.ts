// The newest events of the appliance, and each following one as it happens. A lost connection is opened again after the last event that was
// printed, so that nothing is missed or repeated.

import { setTimeout as pause } from 'node:timers/promises';
import { OPERATIONS } from '../contract/operations.ts';
import type { StreamMessages } from '../contract/schemas/stream.ts';
import type { Answer } from '../contract/wire.ts';
import { ColdironError, type ErrorCode } from '../domain/errors.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { type SseMessage, SseReader } from './sse-reader.ts';
import { jsonText, type Output, printable, printJson, type Style, standardOutput, styled } from './terminal.ts';

interface EventsOptions extends ConnectionOptions {
  readonly follow?: boolean;
  readonly node?: string;
  readonly kind?: string;
  readonly after?: string;
  readonly correlationId?: string;
  readonly limit: string;
}

type EventView = Answer<'listEvents'>['events'][number];

export async function showEvents(options: EventsOptions): Promise<void> {
  const { correlationId: correlation_id } = options;
  if (options.follow && correlation_id !== undefined) {
    throw new ColdironError('usage', '--correlation-id lists what happened: leave --follow out');
  }
  const connection = await connect(options);
  const output = standardOutput();
  const { node, kind, after, limit } = options;
  const range = after === undefined ? { limit, newest: 'true' } : { limit, after };
  const { events } = await operate(connection, 'listEvents', { query: { node, kind, correlation_id, ...range } });
  if (options.follow) {
    for (const event of events) printEvent(output, event, options);
    const last = events.at(-1)?.seq ?? (await newestNumber(connection, options));
    await followEvents(connection, options, last);
    return;
  }
  if (options.json) return printJson(output, events);
  for (const event of events) printEvent(output, event, options);
  if (events.length === 0) output.write('There are no such events.\n');
}

/** Where to begin when no event matches yet. */
async function newestNumber(connection: Connection, { after }: EventsOptions): Promise<number> {
  if (after !== undefined) return Number(after);
  const { events } = await operate(connection, 'listEvents', { query: { limit: '1', newest: 'true' } });
  return events.at(-1)?.seq ?? 0;
}

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/** These do not go away by waiting. */
const FINAL: readonly ErrorCode[] = [
  'unauthenticated',
  'forbidden',
  'not_found',
  'invalid_request',
  'server_untrusted',
];

async function followEvents(connection: Connection, options: EventsOptions, last: number): Promise<void> {
  const output = standardOutput();
  const interrupted = new AbortController();
  const stop = (): void => interrupted.abort();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  let after = String(last);
  let wait = FIRST_PAUSE_MS;
  while (!interrupted.signal.aborted) {
    try {
      for await (const message of streamed(connection, options, after, interrupted.signal)) {
        if (message.id !== '') after = message.id;
        wait = FIRST_PAUSE_MS;
        show(output, message, options);
      }
      if (!interrupted.signal.aborted) process.stderr.write('coldiron: the stream ended; connecting again\n');
    } catch (error) {
      if (interrupted.signal.aborted) return;
      if (!(error instanceof ColdironError) || FINAL.includes(error.code)) throw error;
      process.stderr.write(`coldiron: ${printable(error.message)}; trying again\n`);
    }
    await pause(wait, undefined, { signal: interrupted.signal }).catch(() => undefined);
    wait = Math.min(2 * wait, LONGEST_PAUSE_MS);
  }
}

async function* streamed(
  connection: Connection,
  { node, kind }: EventsOptions,
  after: string,
  signal: AbortSignal,
): AsyncGenerator<SseMessage> {
  const query = { node, kind, snapshot: 'none', after };
  const stream = await connection.stream(OPERATIONS.streamEvents.path, query, signal);
  const reader = new SseReader();
  for await (const chunk of stream) {
    yield* reader.read(String(chunk));
    // A heartbeat moves the id on without a message.
    if (reader.lastId !== '') yield { event: 'cursor', data: '', id: reader.lastId };
  }
}

function show(output: Output, { event, data }: SseMessage, options: EventsOptions): void {
  if (event === 'event') printEvent(output, JSON.parse(data) as EventView, options);
  if (event === 'reset') {
    const { reason } = JSON.parse(data) as StreamMessages['reset'];
    process.stderr.write(`coldiron: events are missing here: ${printable(reason)}\n`);
  }
}

const STYLE_OF: Readonly<Record<EventView['severity'], Style | null>> = { info: null, warning: 'yellow', error: 'red' };

/** With --json and --follow, one JSON value per line. */
function printEvent(output: Output, event: EventView, { json }: EventsOptions): void {
  if (json) {
    output.write(`${jsonText(event)}\n`);
    return;
  }
  const { at, hostname, severity, sentence } = event;
  const style = STYLE_OF[severity];
  const words = style === null ? printable(sentence) : styled(output, style, printable(sentence));
  const when = styled(output, 'grey', printable(at.slice(0, 19).replace('T', ' ')));
  output.write(`${when}  ${printable(hostname ?? '-').padEnd(12)}  ${words}\n`);
}
