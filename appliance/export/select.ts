// Which events a receiver gets, and what a batch of the log means for it: messages, and how far the cursor moves.

import type { Json, StoredEvent } from '../domain/event.ts';
import { SEVERITIES, type Severity } from '../domain/events/event-row.ts';
import { severityOf } from '../domain/events/known-event.ts';
import type { Instant } from '../domain/instant.ts';
import { type ExportMessage, gapMessage, messageOf, type NodeLookup } from './message.ts';

export interface Selection {
  /** Kinds with everything below them: `lifecycle` includes `lifecycle.ready`. Empty: all. */
  readonly kinds: readonly string[];
  /** This severity and worse. */
  readonly severity: Severity;
  /** Host names. Empty: all events, also those that are about no node. */
  readonly nodes: readonly string[];
}

/** Problems of the appliance that are about receivers. */
export const RECEIVER_PROBLEM = 'receiver-unreachable';

export function isSelected(event: StoredEvent, { kinds, severity, nodes }: Selection, lookUp: NodeLookup): boolean {
  if (isAboutExport(event)) return false;
  if (kinds.length > 0 && !kinds.some((kind) => event.kind === kind || event.kind.startsWith(`${kind}.`))) return false;
  if (SEVERITIES.indexOf(severityOf(event.kind)) < SEVERITIES.indexOf(severity)) return false;
  if (nodes.length === 0) return true;
  const node = event.machine === null ? null : lookUp(event.machine);
  return node !== null && nodes.includes(node.hostname);
}

/** Never exported: two receivers that fail in turn would keep each other supplied with events. */
export function isAboutExport({ kind, data }: Pick<StoredEvent, 'kind' | 'data'>): boolean {
  if (kind.startsWith('export.')) return true;
  return kind.startsWith('appliance.') && isObject(data) && data.problem === RECEIVER_PROBLEM;
}

const isObject = (data: Json): data is { readonly [key: string]: Json } =>
  typeof data === 'object' && data !== null && !Array.isArray(data);

export interface PlannedMessage {
  readonly message: ExportMessage;
  /** Null: the message says that events are missing. */
  readonly event: StoredEvent | null;
  readonly lost: number;
}

export interface Batch {
  readonly messages: readonly PlannedMessage[];
  /** Where the cursor is when all messages are delivered. */
  readonly upTo: number;
}

export interface BatchContext {
  readonly stream: string;
  readonly selection: Selection;
  readonly lookUp: NodeLookup;
  readonly now: Instant;
}

/** The numbers of events have no gaps when they are assigned: a missing number is an event that retention has deleted. */
export function planBatch(after: number, events: readonly StoredEvent[], context: BatchContext): Batch {
  const { stream, selection, lookUp, now } = context;
  const messages: PlannedMessage[] = [];
  let upTo = after;
  for (const event of events) {
    const lost = event.seq - upTo - 1;
    if (lost > 0) {
      messages.push({ message: gapMessage(upTo + 1, event.seq - 1, stream, now), event: null, lost });
    }
    if (isSelected(event, selection, lookUp)) {
      messages.push({ message: messageOf(event, stream, lookUp), event, lost: 0 });
    }
    upTo = event.seq;
  }
  return { messages, upTo };
}
