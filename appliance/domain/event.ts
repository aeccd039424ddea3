// Events, appended and never changed, and audit entries, which record the actor of a change in a hash chain.

import type { EventData, EventKind } from './events/event-table.ts';
import type { Instant } from './instant.ts';
import type { MachineId } from './machine.ts';

/** JSON values: no undefined, no functions, no cycles. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** `token:<name>`, `agent:<name>`, `local:<user>`, `appliance`, `machine:<hostname>`: who did it. */
export type Actor = string;

/** Who asked for a write, and the id that ties its events, audit entries and logs together. */
export interface Origin {
  readonly actor: Actor;
  readonly correlationId: string | null;
  /** Why, in the words of the person who asked. */
  readonly note?: string | undefined;
  /** The same for every delivery of one request that has an Idempotency-Key: a command with this id is executed once. */
  readonly commandId?: string | undefined;
  /** The version of the machine, or of the declared inventory, that the caller read. If it has changed, the write is rejected. */
  readonly expectedVersion?: number | undefined;
}

/** The fields that every event has. */
export interface EventFrame {
  readonly at: Instant;
  readonly actor: Actor;
  readonly machine: MachineId | null;
  readonly correlationId: string | null;
  /** The onboarding run of its machine, which the store adds while one is open. Absent: none. */
  readonly onboarding?: string;
}

/** An event of one of these kinds, with its data as `EVENT_TABLE` defines it. */
export type NewEventOf<Kind extends EventKind> = Kind extends EventKind
  ? EventFrame & { readonly kind: Kind; readonly data: EventData<Kind> }
  : never;
export type NewEvent = NewEventOf<EventKind>;

/** For a generic `Kind`: the compiler cannot infer that `kind` and `data` belong together. */
export const newEvent = <Kind extends EventKind>(frame: EventFrame, kind: Kind, data: EventData<Kind>): NewEvent =>
  ({ ...frame, kind, data }) as unknown as NewEvent;

export type Event = NewEvent & { readonly seq: number };

/** An event from the store. Another version may have written it: `knownEvent` checks it against the table. */
export interface StoredEvent extends EventFrame {
  readonly seq: number;
  readonly kind: string;
  readonly data: Json;
}

export interface NewAuditEntry {
  readonly at: Instant;
  readonly actor: Actor;
  readonly action: string;
  /** The object that was changed: `node:node01`, `token:ci-runner`, `inventory:example`. */
  readonly target: string;
  readonly correlationId: string | null;
  readonly before: Json;
  readonly after: Json;
}

export interface AuditEntry extends NewAuditEntry {
  readonly seq: number;
  readonly previousHash: string;
  readonly hash: string;
}

/** Keys are sorted at every level: equal values have equal texts, whichever engine stored them. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as { readonly [key: string]: Json };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`);
  return `{${members.join(',')}}`;
}

/** The text that the hash of an audit entry covers: all its fields except the hash. */
export const auditText = (entry: Omit<AuditEntry, 'hash'>): string =>
  canonicalJson({
    seq: entry.seq,
    at: entry.at,
    actor: entry.actor,
    action: entry.action,
    target: entry.target,
    correlation_id: entry.correlationId,
    before: entry.before,
    after: entry.after,
    previous_hash: entry.previousHash,
  });

/** The previous hash of the first entry. */
export const AUDIT_GENESIS = '0'.repeat(64);
