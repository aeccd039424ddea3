// Handlers of events and of the live view of the fleet.

import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Query } from '../../contract/wire.ts';
import { ColdironError } from '../../domain/errors.ts';
import { SECOND } from '../../domain/instant.ts';
import type { MachineId } from '../../domain/machine.ts';
import { parseObjectName } from '../../domain/names.ts';
import { shown } from '../../domain/parsed.ts';
import { OPEN_METRICS_TYPE, PROMETHEUS_TYPE } from '../../metrics/registry.ts';
import { findNodeEverKnown } from '../find-node.ts';
import { type HandlerDeps, type Handlers, RawAnswer } from '../handler.ts';
import type { Sink } from '../live/listener.ts';
import { ROWS_AT_ONCE } from '../live/row-book.ts';
import { GZIP_HEADER } from '../live/sse.ts';
import type { StreamFilter } from '../live/stream-filter.ts';
import { eventView } from '../views/trail.ts';

export const liveHandlers: Handlers<'listEvents' | 'listFleet' | 'streamEvents' | 'getMetrics'> = {
  async listEvents(deps, { query, gone }) {
    const { node, limit = 100, wait = 0, correlation_id: correlationId, ...rest } = query;
    const machine = node === undefined ? null : (await findNodeEverKnown(deps, node)).id;
    const request = correlationId === undefined ? {} : { correlationId };
    const asked = { ...rest, ...request, ...(machine !== null && { machine }), limit };
    const { store, fleet, live } = deps;
    // The feed follows the log before it is read, so nothing is missed in between.
    if (wait > 0) await live.ready();
    let events = await store.events(asked);
    if (events.length === 0 && wait > 0) {
      await live.next(rest.after ?? 0, filterOf(machine, rest.kind), wait * SECOND, gone());
      events = await store.events(asked);
    }
    return { events: events.map((event) => eventView(event, fleet)), next: events.at(-1)?.seq ?? null };
  },

  async listFleet({ live }) {
    const { rows, cursor } = await live.snapshot();
    return new RawAnswer(200, Readable.from(fleetText(rows, cursor)));
  },

  async streamEvents(deps, { query, header, origin, stillAllowed, openStream, log }) {
    const { live } = deps;
    const filter = await streamFilter(deps, query);
    const after = lastEventId(header('last-event-id')) ?? query.after ?? null;
    live.admit(origin.actor);
    await live.ready();
    const packed = acceptsGzip(header('accept-encoding'));
    const response = openStream({ ...STREAM_HEADERS, ...(packed && { 'content-encoding': 'gzip' }) });
    if (packed) response.write(GZIP_HEADER);
    const reader = { filter, packed, actor: origin.actor, stillAllowed, sink: sinkOf(response) };
    const listener = live.listen(reader, after);
    response.on('drain', () => listener.drained());
    response.on('error', () => response.destroy());
    response.on('close', () => {
      live.left(listener);
      log.info({ actor: origin.actor }, 'event stream closed');
    });
    return new RawAnswer(200, 'taken-over');
  },

  async getMetrics({ metrics }, { header }) {
    const openMetrics = (header('accept') ?? '').includes('application/openmetrics-text');
    const text = await metrics(openMetrics);
    return new RawAnswer(200, Buffer.from(text), openMetrics ? OPEN_METRICS_TYPE : PROMETHEUS_TYPE);
  },
};

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // A proxy that collects the answer would hold it back for ever.
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
  vary: 'accept-encoding',
};

const sinkOf = (response: ServerResponse): Sink => ({
  write: (bytes) => response.write(bytes),
  end: () => void response.end(),
  cut: () => void response.destroy(),
});

const acceptsGzip = (header: string | undefined): boolean =>
  /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i.test(header ?? '');

const filterOf = (machine: MachineId | null, kind: string | undefined): StreamFilter => ({
  ...{ machine, site: null, kind: kind ?? null, severity: 'info', rows: false, events: true },
});

async function streamFilter(deps: HandlerDeps, query: Query<'streamEvents'>): Promise<StreamFilter> {
  const { node, site, kind, severity = 'info', snapshot = 'nodes', events = 'all' } = query;
  const rows = snapshot === 'nodes';
  if (!rows && events === 'none') {
    throw new ColdironError('invalid_request', 'snapshot: none and events: none together leave nothing to send');
  }
  return {
    machine: node === undefined ? null : (await findNodeEverKnown(deps, node)).id,
    site: site === undefined ? null : knownSite(deps, site),
    kind: kind ?? null,
    severity,
    rows,
    events: events === 'all',
  };
}

function knownSite({ fleet }: HandlerDeps, text: string): string {
  const name = parseObjectName(text);
  const site = name.ok ? fleet.site(name.value) : null;
  if (!site) throw new ColdironError('not_found', `there is no site ${shown(text)}`);
  return site.name;
}

/** A browser sends the last id that it got, which may be empty. */
function lastEventId(header: string | undefined): number | null {
  if (header === undefined || header === '') return null;
  const seq = Number(header);
  if (/^\d{1,15}$/.test(header) && Number.isSafeInteger(seq)) return seq;
  throw new ColdironError('invalid_request', `Last-Event-ID: must be the number of an event, not ${shown(header)}`);
}

function* fleetText(rows: readonly string[], cursor: number): Generator<string> {
  yield `{"cursor":${cursor},"rows":[`;
  for (let at = 0; at < rows.length; at += ROWS_AT_ONCE) {
    yield `${at === 0 ? '' : ','}${rows.slice(at, at + ROWS_AT_ONCE).join(',')}`;
  }
  yield ']}';
}
