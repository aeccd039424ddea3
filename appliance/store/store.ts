// The contract of the store, in domain types. Rows never leave this folder.
//
// Promises that hold for every engine:
//   - A method that writes is one transaction: when its promise resolves, the whole change is on disk; when it rejects or the
//     process dies, none of it is.
//   - A failure of the engine is a ColdironError `store_unavailable`, never an empty result.
//   - Writers that depend on what they read name the version they read; a stale one is refused with `version_conflict`.
//   - Everything about the lifecycle of a machine is written with `commit`: one `Change` (change.ts), one transaction. Its
//     outcomes are committed, repeated (the command id was committed before: nothing is written, the recorded result is
//     returned) and refused (a write's precondition does not hold: nothing is written, and the write is named).
//   - A commit with an unknown outcome rejects with `outcome_unknown`, never `store_unavailable`: repeating it with the same
//     command id writes it once.

import type { Cluster, Profile, RoceAssignment, Sku } from '../domain/catalogue.ts';
import type { Effect } from '../domain/effect.ts';
import type { AuditEntry, NewAuditEntry, NewEvent, StoredEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { CatalogueKind, Inventory } from '../domain/inventory.ts';
import type { Lease } from '../domain/lease.ts';
import type { Lifecycle } from '../domain/lifecycle.ts';
import type { Machine, MachineId, MachineSpec } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';
import type { Proposal } from '../domain/proposal.ts';
import type { ApiToken, TokenId } from '../domain/token.ts';
import type { AccessStore } from './access-store.ts';
import type { AgentLogStore } from './agent-log-store.ts';
import type { AllocationStore } from './allocation-store.ts';
import type { BmcStore } from './bmc-store.ts';
import type { Change, CommandId, Committed, RecordedCommand, Subscriber } from './change.ts';
import type { EnrollmentStore } from './enrollment-store.ts';
import type { ExportStore } from './export-store.ts';
import type { OnboardingStore } from './onboarding-store.ts';
import type { ProposalStore } from './proposal-store.ts';
import type { RenderingStore } from './rendering-store.ts';
import type { RequestStore } from './request-store.ts';
import type { SessionStore } from './session-store.ts';
import type { TaskStore } from './task-store.ts';
import type { WebSessionStore } from './web-session-store.ts';

export type CatalogueValue = Site | SiteNetwork | Sku | Profile | Cluster | RoceAssignment;

/** What one apply writes. A pure plan makes it from an inventory that was read at `declaredRevision`. */
export interface InventoryWrites {
  readonly declaredRevision: number;
  readonly putCatalogue: readonly { kind: CatalogueKind; name: ObjectName; source: string; value: CatalogueValue }[];
  readonly dropCatalogue: readonly { kind: CatalogueKind; name: ObjectName }[];
  readonly createMachines: readonly { id: MachineId; spec: MachineSpec; source: string; lifecycle: Lifecycle }[];
  /** With `lifecycle` when declaring the machine also accepts it: a discovered one becomes registered. */
  readonly changeMachines: readonly {
    id: MachineId;
    version: number;
    spec: MachineSpec;
    source: string;
    lifecycle?: Lifecycle;
  }[];
  /** Their rows stay in state `removed`; their names, MACs and addresses are freed, and their identity is revoked. */
  readonly removeMachines: readonly { id: MachineId; version: number; lifecycle: Lifecycle }[];
  /** Approved proposals that this write carries out, as they are afterwards. */
  readonly proposals?: readonly Proposal[];
  readonly events: readonly NewEvent[];
  readonly audit: readonly NewAuditEntry[];
}

export interface EventQuery {
  readonly machine?: MachineId;
  /** Matches the kind itself and everything below it: `lifecycle` matches `lifecycle.ready`. */
  readonly kind?: string;
  /** Of one request, and of all work that it started. */
  readonly correlationId?: string;
  readonly after?: number;
  /** At most this many, the oldest first; with `newest`, the last ones, still in order. */
  readonly limit: number;
  readonly newest?: boolean;
}

export interface Queue {
  readonly waiting: number;
  /** Null: nothing waits. */
  readonly since: Instant | null;
}

export type AuditVerdict =
  | { readonly intact: true; readonly entries: number; readonly head: string }
  | { readonly intact: false; readonly entries: number; readonly seq: number; readonly reason: string };

export interface Store
  extends AccessStore,
    AgentLogStore,
    AllocationStore,
    BmcStore,
    EnrollmentStore,
    ExportStore,
    SessionStore,
    RenderingStore,
    RequestStore,
    TaskStore,
    OnboardingStore,
    WebSessionStore,
    ProposalStore {
  /** One consistent snapshot. Cost grows with the number of machines. */
  inventory(): Promise<Inventory>;
  /** The machines (removed ones included) that changed after `revision`, and whether the catalogue did. */
  changesSince(
    revision: number,
  ): Promise<{ revision: number; declaredRevision: number; catalogueChanged: boolean; machines: Machine[] }>;
  machine(id: MachineId): Promise<Machine | null>;
  /** Atomic. `version_conflict` when the declared inventory or a named machine has changed since it was read. */
  writeInventory(writes: InventoryWrites): Promise<{ revision: number; declaredRevision: number }>;

  /**
   * Writes everything that the change lists, in one transaction, and publishes it. Rejects with
   *   - `version_conflict`: the machine has changed since it was read;
   *   - `conflict`: the command id was used for another command, or the machine is removed;
   *   - `not_found`: there is no such machine;
   *   - `store_unavailable`: nothing was written;
   *   - `outcome_unknown`: the engine failed during the commit. Repeating the command id tells whether it was written.
   */
  commit(change: Change): Promise<Committed>;
  /** Null: no such command was committed, or its record was trimmed. */
  command(id: CommandId): Promise<RecordedCommand | null>;
  /**
   * Calls the subscriber for every commit of this process that changes machines or the catalogue, in commit order and before
   * the commit resolves. A failing subscriber is logged and does not fail the commit. Returns unsubscribe.
   */
  subscribe(subscriber: Subscriber): () => void;
  /** Machines whose deadline has passed, the most overdue first. */
  dueDeadlines(now: Instant, limit: number): Promise<Machine[]>;
  nextDeadline(): Promise<Instant | null>;

  /**
   * Takes due effects, oldest first, at most one per machine, and none while an earlier one of the same machine is running or
   * pending. A taken effect is `running`, with its attempt counted, before this resolves.
   */
  takeEffects(now: Instant, limit: number): Promise<Effect[]>;
  /** After a crash: sets running effects to pending. Returns how many. */
  reclaimEffects(): Promise<number>;
  effects(machine: MachineId): Promise<Effect[]>;
  nextEffectDue(): Promise<Instant | null>;
  /** What waits, and since when: effects that are due and not running, and tasks that no node has fetched. */
  queues(now: Instant): Promise<Readonly<Record<'effects' | 'tasks', Queue>>>;

  commitLeases(leases: readonly Lease[]): Promise<void>;
  leases(network?: ObjectName): Promise<Lease[]>;

  createToken(token: ApiToken, secretHash: string, audit: NewAuditEntry): Promise<void>;
  token(id: TokenId): Promise<{ token: ApiToken; secretHash: string } | null>;
  tokens(): Promise<ApiToken[]>;
  /** False when there is no such token or it is already revoked. */
  revokeToken(id: TokenId, now: Instant, audit: NewAuditEntry): Promise<boolean>;

  appendEvents(events: readonly NewEvent[]): Promise<void>;
  events(query: EventQuery): Promise<StoredEvent[]>;
  /** Retention: deletes events older than `before`, and all but the newest `most`; audit entries are never deleted. Returns how many. */
  trimEvents(before: Instant, most?: number): Promise<number>;
  /** The same for the records of commands. Afterwards a repeated id is a new command. */
  trimCommands(before: Instant): Promise<number>;

  appendAudit(entries: readonly NewAuditEntry[]): Promise<void>;
  /** The oldest first; with `newest`, the last ones, still in order. With a correlation id, only those of that request. */
  auditEntries(after: number, limit: number, newest?: boolean, correlationId?: string): Promise<AuditEntry[]>;
  /** Verifies the whole chain and names a changed, missing, moved or added row, or a truncated end. */
  verifyAudit(): Promise<AuditVerdict>;

  close(): Promise<void>;
}
