// The event stream: one EventSource per tab, because browsers open few connections per host. Messages are collected and shown
// once per frame.

import { signal } from '@preact/signals';
import { now, setApplianceTime } from '../time.ts';
import { FleetStore } from './fleet-store.ts';
import type { Row } from './row.ts';

export interface LiveEvent {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly actor: string;
  readonly node: string | null;
  readonly data: unknown;
}

/** `connecting`: the snapshot is not complete. `offline`: the connection is lost, and is tried again. */
export type Connection = 'connecting' | 'live' | 'offline';

export const fleet = new FleetStore();
export const connection = signal<Connection>('connecting');
/** Counts the frames in which rows changed: read it to render again when the fleet changes. */
export const revision = signal(0);
/** When the last message arrived, by the clock of the page. */
export const heardAt = signal<number | null>(null);
/** Host names that changed since somebody looked; lists use it for "12 changed". */
type Changed = (hostnames: ReadonlySet<string>) => void;

const changeListeners = new Set<Changed>();
const eventListeners = new Set<(event: LiveEvent) => void>();

/** Called once per frame with the host names whose rows changed. Returns unsubscribe. */
export function onRows(listener: Changed): () => void {
  changeListeners.add(listener);
  return () => void changeListeners.delete(listener);
}

/** Called for each event of the appliance. Returns unsubscribe. */
export function onEvent(listener: (event: LiveEvent) => void): () => void {
  eventListeners.add(listener);
  return () => void eventListeners.delete(listener);
}

let pending = new Set<string>();
let scheduled = false;

function changed(hostnames: Iterable<string>): void {
  for (const name of hostnames) pending.add(name);
  if (scheduled) return;
  scheduled = true;
  // A hidden tab gets no frames, and its rows must not pile up.
  if (document.hidden) setTimeout(flush, 250);
  else requestAnimationFrame(flush);
}

function flush(): void {
  scheduled = false;
  const names = pending;
  pending = new Set();
  if (names.size === 0) return;
  for (const listener of changeListeners) listener(names);
  revision.value += 1;
}

let source: EventSource | null = null;
let whenRefused: () => void = () => {};
/** Called when the appliance refuses the stream: usually the session is over. */
export const onRefused = (listener: () => void): void => {
  whenRefused = listener;
};

const STREAM = '/api/v1/events/stream';
const RETRY_MS = 3000;

export function startStream(): void {
  if (source !== null) return;
  connection.value = 'connecting';
  // Rows of a snapshot: what is not in it any more when it is complete is gone.
  let snapshot: Set<string> | null = new Set();
  const opened = new EventSource(STREAM, { withCredentials: false });
  source = opened;
  const on = <T>(name: string, handle: (data: T) => void): void => {
    opened.addEventListener(name, (message) => {
      heardAt.value = now.peek();
      handle(JSON.parse((message as MessageEvent<string>).data) as T);
    });
  };
  on<Row[]>('nodes', (rows) => {
    for (const row of rows) {
      fleet.put(row);
      snapshot?.add(row.hostname);
    }
    changed(rows.map(({ hostname }) => hostname));
  });
  on<string[]>('gone', (hostnames) => {
    for (const name of hostnames) fleet.delete(name);
    changed(hostnames);
  });
  on<LiveEvent>('event', (event) => {
    for (const listener of eventListeners) listener(event);
  });
  on<{ time?: string }>('ready', ({ time }) => {
    if (time) setApplianceTime(time);
    const kept = snapshot;
    if (kept !== null) {
      const gone = [...fleet.entries.keys()].filter((name) => !kept.has(name));
      for (const name of gone) fleet.delete(name);
      changed(gone);
    }
    snapshot = null;
    connection.value = 'live';
    revision.value += 1;
  });
  opened.addEventListener('open', () => {
    snapshot = new Set();
  });
  opened.addEventListener('error', () => {
    connection.value = 'offline';
    // The browser itself tries again after a lost connection; it gives up when the answer is an error.
    if (opened.readyState !== EventSource.CLOSED) return;
    stopStream();
    whenRefused();
    setTimeout(() => {
      if (wanted) startStream();
    }, RETRY_MS);
  });
}

let wanted = false;

export function followFleet(): void {
  wanted = true;
  startStream();
}

export function stopFollowing(): void {
  wanted = false;
  stopStream();
  fleet.clear();
  revision.value += 1;
  connection.value = 'connecting';
}

function stopStream(): void {
  source?.close();
  source = null;
}
