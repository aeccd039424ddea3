// The types of the tables. Columns are text or integers only, so that every engine stores the same values: instants are
// milliseconds, domain values are JSON text.

import type { AccessKind } from '../../domain/access-object.ts';
import type { AllocationState } from '../../domain/allocation.ts';
import type { EffectKind } from '../../domain/effect.ts';
import type { Instant } from '../../domain/instant.ts';
import type { CatalogueKind } from '../../domain/inventory.ts';
import type { LeaseState } from '../../domain/lease.ts';
import type { Health, LifecycleState } from '../../domain/lifecycle.ts';
import type { OnboardingState } from '../../domain/onboarding.ts';
import type { SessionEnd, SessionMode } from '../../domain/session.ts';
import type { TaskState } from '../../domain/task.ts';
import type { Role } from '../../domain/token.ts';
import type {
  AuthorityState,
  CertificateKind,
  EnrollmentTokenKind,
  SigningKeyState,
  TokenDelivery,
} from '../enrollment-store.ts';
import type { ExportCursor } from '../export-store.ts';
import type { DeliveredRendering } from '../rendering-store.ts';
import type { AgentLogTable, ProposalTable, WebSessionTable } from './people-tables.ts';

export interface Database {
  schema_migrations: { number: number; name: string };
  counters: { name: CounterName; value: number };
  catalogue: { kind: CatalogueKind; name: string; source: string; value: string };
  machines: MachineTable;
  machine_claims: ClaimTable;
  intents: IntentTable;
  effects: EffectTable;
  leases: LeaseTable;
  tokens: TokenTable;
  /** The recorded commands; `result` is the machine as JSON. */
  commands: { id: string; digest: string; machine: string; result: string; at: Instant };
  events: EventTable;
  audit: AuditTable;
  sessions: SessionTable;
  /** The secret files of an order that were delivered. */
  session_files: { session: string; name: string; taken_at: Instant };
  facts: { machine: string; at: Instant; facts: string };
  requests: RequestTable;
  web_sessions: WebSessionTable;
  /** The files last delivered to each machine, as a JSON list. */
  renderings: {
    machine: string;
    at: Instant;
    given_by: DeliveredRendering['by'];
    inventory_revision: number;
    files: string;
  };
  access_versions: AccessVersionTable;
  allocations: AllocationTable;
  /** One row: the end of the audit chain. It reveals a truncated chain. */
  audit_head: { id: 1; seq: number; hash: string };
  bmc_credentials: BmcCredentialTable;
  bmc_places: BmcPlaceTable;
  bmc_quirks: BmcQuirkTable;
  /** The last boot times of a machine in milliseconds, as a JSON list. */
  boot_times: { machine: string; took: string };
  session_media: SessionMediumTable;
  persistent_boot_overrides: { machine: string; method: string; set_at: Instant };
  authorities: AuthorityTable;
  certificates: CertificateTable;
  enrollment_tokens: EnrollmentTokenTable;
  signing_keys: SigningKeyTable;
  tasks: TaskTable;
  /** The last heartbeat of each node. */
  heartbeats: { machine: string; at: Instant; report: string };
  export_cursors: ExportCursor;
  dead_letters: DeadLetterTable;
  onboardings: OnboardingTable;
  agent_logs: AgentLogTable;
  proposals: ProposalTable;
}

/**
 * `revision` counts every change, `declared` the changes of the declared inventory; `catalogue` is the revision of the last
 * catalogue change. `event` and `effect` are the last assigned numbers.
 */
export type CounterName = 'revision' | 'declared' | 'catalogue' | 'event' | 'effect';

export interface MachineTable {
  id: string;
  hostname: string;
  source: string;
  spec: string;
  /** Copies of two fields of `lifecycle`, for the indexes. */
  state: LifecycleState;
  deadline: Instant | null;
  lifecycle: string;
  health: Health;
  /** The recorded hardware, as JSON; null: none. */
  hardware: string | null;
  /** The newest intent. */
  intent: string | null;
  version: number;
  revision: number;
  /** The open allocation as JSON. */
  allocation: string | null;
}

export type ClaimKind = 'hostname' | 'mac' | 'address' | 'bmc';

/** Unique properties of machines. A removed machine has no claims. */
export interface ClaimTable {
  kind: ClaimKind;
  value: string;
  machine: string;
}

export interface IntentTable {
  id: string;
  machine: string;
  /** The values that are fixed at arming: kind, chassis, profile, actor. */
  terms: string;
  armed_at: Instant;
  expires_at: Instant;
  consumed_at: Instant | null;
  revoked_at: Instant | null;
}

/** The newest medium of each machine. */
export interface SessionMediumTable {
  machine: string;
  salt: string;
  path_hash: string;
  bmc: string;
  since: Instant;
  made_at: Instant;
  expires_at: Instant;
  inserted_at: Instant | null;
  fetched_at: Instant | null;
  used_by: string | null;
  ended_at: Instant | null;
}

export interface EffectTable {
  id: string;
  seq: number;
  machine: string;
  kind: EffectKind;
  correlation_id: string | null;
  state: 'pending' | 'running' | 'done' | 'failed';
  attempts: number;
  not_before: Instant;
  last_error: string | null;
}

export interface LeaseTable {
  address: string;
  mac: string;
  network: string;
  state: LeaseState;
  granted_at: Instant;
  expires_at: Instant;
}

export interface TokenTable {
  id: string;
  name: string;
  role: Role;
  created_at: Instant;
  expires_at: Instant | null;
  revoked_at: Instant | null;
  secret_hash: string;
}

export interface EventTable {
  seq: number;
  at: Instant;
  kind: string;
  actor: string;
  machine: string | null;
  correlation_id: string | null;
  /** The run of its machine that was open then. */
  onboarding_id: string | null;
  data: string;
}

export interface AuditTable {
  seq: number;
  at: Instant;
  actor: string;
  action: string;
  target: string;
  correlation_id: string | null;
  before: string;
  after: string;
  previous_hash: string;
  hash: string;
}

export interface BmcCredentialTable {
  machine: string;
  slot: 'current' | 'pending';
  username: string;
  /** Sealed by the vault, like `key`. */
  password: string;
  key: string | null;
  set_at: Instant;
}

export interface BmcPlaceTable {
  address: string;
  certificate: string | null;
  suite: number | null;
}

export interface BmcQuirkTable {
  vendor: string;
  product: string;
  firmware: string;
  method: string;
  worked: number;
  ignored: number;
  last_at: Instant;
}

export interface AuthorityTable {
  id: string;
  state: AuthorityState;
  certificate: string;
  cross_certificate: string | null;
  created_at: Instant;
  not_after: Instant;
  activated_at: Instant | null;
  retired_at: Instant | null;
}

export interface CertificateTable {
  serial: string;
  fingerprint: string;
  authority: string;
  kind: CertificateKind;
  machine: string | null;
  not_before: Instant;
  not_after: Instant;
  confirmed_at: Instant | null;
  revoked_at: Instant | null;
  revoked_because: string | null;
  replaced_by: string | null;
}

export interface EnrollmentTokenTable {
  id: string;
  machine: string;
  kind: EnrollmentTokenKind;
  delivery: TokenDelivery;
  actor: string;
  created_at: Instant;
  expires_at: Instant;
  certificate: string | null;
  consumed_at: Instant | null;
  revoked_at: Instant | null;
  secret_hash: string;
  /** What it was redeemed for: the SHA-256 of the certified key, and the serial of the certificate. */
  redeemed_key: string | null;
  redeemed_certificate: string | null;
}

export interface TaskTable {
  id: string;
  machine: string;
  kind: string;
  parameters: string;
  state: TaskState;
  actor: string;
  created_at: Instant;
  expires_at: Instant;
  payload: string;
  signature: string;
  signing_key: string;
  lease: string | null;
  lease_until: Instant | null;
  attempts: number;
  finished_at: Instant | null;
  result: string | null;
}

/** Every allocation, also those that are over; `value` is it as JSON. */
export interface AllocationTable {
  id: string;
  machine: string;
  username: string;
  state: AllocationState;
  requested_at: Instant;
  value: string;
}

export interface AccessVersionTable {
  kind: AccessKind;
  name: string;
  version: number;
  at: Instant;
  actor: string;
  /** The object as JSON. */
  value: string;
}

export interface SigningKeyTable {
  id: string;
  state: SigningKeyState;
  public_key: string;
  created_at: Instant;
  activated_at: Instant | null;
  grace_until: Instant | null;
}

export interface SessionTable {
  id: string;
  machine: string;
  mode: SessionMode;
  work_order: string;
  ticket_hash: string;
  ticket_made_at: Instant;
  ticket_expires_at: Instant;
  key_hash: string | null;
  /** The nonce of the client, if it sent one. */
  nonce_hash: string | null;
  opened_at: Instant | null;
  expires_at: Instant | null;
  heard_at: Instant | null;
  sequence: number;
  /** The last reported step, as JSON. */
  last_step: string | null;
  ended_at: Instant | null;
  ended_how: SessionEnd | null;
  ended_reason: string | null;
  /** How its identity was established, as JSON. */
  identity: string | null;
}

/** Events that a receiver refused. */
export interface DeadLetterTable {
  receiver: string;
  seq: number;
  /** A `StoredEvent` as JSON. */
  event: string;
  at: Instant;
  attempts: number;
  reason: string;
  replay: 0 | 1;
}

export interface RequestTable {
  id: string;
  fingerprint: string;
  operation: string;
  holder: string;
  claimed_at: Instant;
  finished_at: Instant | null;
  /** A `RequestOutcome` as JSON. */
  outcome: string | null;
}

export interface OnboardingTable {
  id: string;
  /** Order of creation. */
  seq: number;
  site: string;
  hostname: string;
  machine: string | null;
  state: OnboardingState;
  created_at: Instant;
  /** Host name and BMC address while the run is open. */
  open_host: string | null;
  open_bmc: string | null;
  correlation_id: string | null;
  version: number;
  /** The `Onboarding` as JSON. */
  record: string;
}
