// One event per fact, appended and never changed; and the audit entry, an event that somebody answers for.

import type { EventData, EventKind } from './events/event-table.ts';
import type { Instant } from './instant.ts';
import type { MachineId } from './machine.ts';

/** JSON as it is stored and sent: no undefined, no functions, no cycles. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** `token:<name>`, `local:<user>`, `appliance`, `machine:<hostname>`: who did it. */
export type Actor = string;

/** Who asked for a write, and the id that ties its events, audit entries and logs together. */
export interface Origin {
  readonly actor: Actor;
  readonly correlationId: string | null;
  /** Why, in the words of the person who asked. */
  readonly note?: string | undefined;
  /** The same for every delivery of one request that has an Idempotency-Key: a command with this id is carried out once. */
  readonly commandId?: string | undefined;
  /** The version of the machine, or of the declared inventory, that the caller saw. Another version refuses the write. */
  readonly expectedVersion?: number | undefined;
}

/** What every event has, whatever its kind. */
export interface EventFrame {
  readonly at: Instant;
  readonly actor: Actor;
  readonly machine: MachineId | null;
  readonly correlationId: string | null;
}

/** An event of one of these kinds, with the data that `EVENT_TABLE` has for it. */
export type NewEventOf<Kind extends EventKind> = Kind extends EventKind
  ? EventFrame & { readonly kind: Kind; readonly data: EventData<Kind> }
  : never;
export type NewEvent = NewEventOf<EventKind>;

/** For a kind that is a parameter: the compiler does not see that `kind` and `data` belong together. */
export const newEvent = <Kind extends EventKind>(frame: EventFrame, kind: Kind, data: EventData<Kind>): NewEvent =>
  ({ ...frame, kind, data }) as unknown as NewEvent;

export type Event = NewEvent & { readonly seq: number };

/** An event as the store has it. Another version may have written it: `knownEvent` tells whether the table describes it. */
export interface StoredEvent extends EventFrame {
  readonly seq: number;
  readonly kind: string;
  readonly data: Json;
}

export interface NewAuditEntry {
  readonly at: Instant;
  readonly actor: Actor;
  readonly action: string;
  /** What it was done to: `node:node01`, `token:ci-runner`, `inventory:example`. */
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

/** Keys sorted at every level: the same value is always the same text, whatever engine stored it. */
export function canonicalJson(value: Json): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const object = value as { readonly [key: string]: Json };
  const members = Object.keys(object)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key] ?? null)}`);
  return `{${members.join(',')}}`;
}

/** What the hash of an audit entry is taken over: everything but the hash itself. */
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

/** The hash that the first entry follows. */
export const AUDIT_GENESIS = '0'.repeat(64);
