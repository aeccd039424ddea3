// A change: everything that one command writes about one machine. `Store.commit` writes it in one transaction or not at all.

import type { Allocation } from '../domain/allocation.ts';
import type { EffectId, NewEffect } from '../domain/effect.ts';
import type { Event, NewAuditEntry, NewEvent, Origin } from '../domain/event.ts';
import type { HardwareRecord } from '../domain/hardware-identity.ts';
import type { Instant } from '../domain/instant.ts';
import type { ArmedIntent, IntentId } from '../domain/intent.ts';
import type { Health, Lifecycle } from '../domain/lifecycle.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { Branded } from '../domain/parsed.ts';
import type { SessionEnd, SessionId } from '../domain/session.ts';
import type { MediumMark, SessionMedium } from '../domain/session-medium.ts';
import type { TaskKind } from '../domain/task.ts';
import type { EnrollmentTokenId, NewEnrollmentToken, Redemption, Renewal } from './enrollment-store.ts';
import type { MachineFacts, NewTicket, Opening, Reopening, SessionReport } from './session-store.ts';

/** Identifies one request. A client that repeats a request sends the same id and gets the result of the first one. */
export type CommandId = Branded<string, 'CommandId'>;

/** Every kind of write, with its precondition. A write whose precondition does not hold refuses the whole change. */
export type Write =
  /** Revokes any open intent of the machine. */
  | { readonly kind: 'arm-intent'; readonly intent: ArmedIntent }
  /** Writes nothing if no intent is open. */
  | { readonly kind: 'revoke-intents'; readonly at: Instant }
  /** Refused unless the intent is open and unexpired: it succeeds for exactly one caller. */
  | { readonly kind: 'consume-intent'; readonly intent: IntentId; readonly at: Instant }
  /** Replaces an unused ticket: only the newest script of a machine opens a session. */
  | { readonly kind: 'put-ticket'; readonly ticket: NewTicket }
  /** Refused unless the ticket is unused and unexpired. Older open sessions of the machine end with it. */
  | { readonly kind: 'open-session'; readonly opening: Opening }
  /** A new key for the client with the same nonce. Refused after the first report, and for another nonce. */
  | { readonly kind: 'reopen-session'; readonly reopening: Reopening }
  /** Refused when the report was received before, or the session has ended. */
  | { readonly kind: 'report-step'; readonly report: SessionReport }
  /** Refused when the step has moved since, is already marked, or its session has ended. */
  | { readonly kind: 'mark-stalled'; readonly session: SessionId; readonly movedAt: Instant; readonly at: Instant }
  /** Refused unless the session is open. */
  | { readonly kind: 'end-session'; readonly session: SessionId; readonly end: SessionEnding }
  /** Ends every open session and unused ticket of the machine. */
  | { readonly kind: 'end-sessions'; readonly end: SessionEnding }
  /** Refused the second time: a secret file is delivered once. */
  | { readonly kind: 'take-session-file'; readonly session: SessionId; readonly name: string; readonly at: Instant }
  /** Replaces the medium of an earlier boot. */
  | { readonly kind: 'put-medium'; readonly medium: SessionMedium }
  /** Refused unless it is the newest medium of the machine, and has no such mark. */
  | { readonly kind: 'mark-medium'; readonly salt: string; readonly mark: MediumMark; readonly at: Instant }
  /** Refused when another session has used it, or it is not the newest medium of the machine. */
  | { readonly kind: 'use-medium'; readonly salt: string; readonly session: SessionId }
  | { readonly kind: 'put-facts'; readonly facts: MachineFacts }
  /** An open allocation holds the machine; one that is over stays on record. */
  | { readonly kind: 'put-allocation'; readonly allocation: Allocation; readonly isOpen: boolean }
  /** The hardware that the node is bound to. */
  | { readonly kind: 'put-hardware'; readonly hardware: HardwareRecord }
  /** Refused when the health is unchanged. */
  | { readonly kind: 'set-health'; readonly health: Health }
  /** Refused unless `replaces` is the open token (null: no token is open). */
  | { readonly kind: 'issue-token'; readonly token: NewEnrollmentToken; readonly replaces: EnrollmentTokenId | null }
  /** Refused unless the token is open, unexpired and for this machine; see `Redemption`. */
  | { readonly kind: 'redeem-token'; readonly redemption: Redemption }
  /** Refused unless the same key used the token after `since`, and its certificate was never presented. */
  | { readonly kind: 'repeat-redemption'; readonly redemption: Redemption; readonly since: Instant }
  | { readonly kind: 'renew-certificate'; readonly renewal: Renewal }
  /** Revokes every token and certificate of the machine and sets its health to unknown. */
  | { readonly kind: 'revoke-identity'; readonly revocation: IdentityRevocation }
  /** Writes nothing if no such task waits. */
  | { readonly kind: 'cancel-tasks'; readonly cancellation: TaskCancellation }
  /** Refused unless the effect is running; so are the next two. */
  | { readonly kind: 'finish-effect'; readonly effect: EffectId }
  | { readonly kind: 'retry-effect'; readonly effect: EffectId; readonly notBefore: Instant; readonly error: string }
  | { readonly kind: 'fail-effect'; readonly effect: EffectId; readonly error: string };

export interface SessionEnding {
  readonly how: SessionEnd;
  readonly at: Instant;
  readonly reason: string | null;
}

export interface IdentityRevocation {
  readonly at: Instant;
  readonly because: string;
  readonly origin: Origin;
  /** Written only when there was a certificate or token to revoke. */
  readonly event: NewEvent;
  /** Written only when there was an API token of the node to revoke. */
  readonly tokenEvent: NewEvent;
  /** Written only when the health changed. */
  readonly healthEvent: NewEvent;
}

/** A waiting task is queued, or leased and not started. */
export interface TaskCancellation {
  readonly task: TaskKind;
  /** `never-started`: not a task that was leased before, because the node may have started it then. */
  readonly which: 'waiting' | 'never-started';
  readonly at: Instant;
  readonly origin: Origin;
  readonly reason: string;
}

export interface Change {
  /** Null: no id is needed, because a precondition refuses a repetition. */
  readonly command: { readonly id: CommandId; readonly digest: string } | null;
  readonly at: Instant;
  readonly machine: MachineId;
  /** The machine version that the decision is based on; null: the preconditions of the writes are enough. */
  readonly version: number | null;
  /** Null: the machine stays in its state. */
  readonly lifecycle: Lifecycle | null;
  readonly effects: readonly NewEffect[];
  readonly writes: readonly Write[];
  readonly events: readonly NewEvent[];
  readonly audit: readonly NewAuditEntry[];
}

/** `refused`: the precondition of the named write does not hold, and nothing was written. */
export interface RefusedChange {
  readonly outcome: 'refused';
  readonly write: Write['kind'];
  readonly reason: string;
}

export type Committed =
  | { readonly outcome: 'committed'; readonly machine: Machine; readonly events: readonly Event[] }
  /** The command was committed before; `machine` is the result of that commit. Nothing was written now. */
  | { readonly outcome: 'repeated'; readonly machine: Machine }
  | RefusedChange;

/** The recorded result of a command. */
export interface RecordedCommand {
  readonly digest: string;
  readonly machine: Machine;
}

/** What subscribers receive for each commit. */
export interface Publication {
  /** Null: an inventory was written. */
  readonly change: Change | null;
  /** The machine after the change; null: several machines or the catalogue changed. */
  readonly machine: Machine | null;
  readonly revision: number;
  readonly events: readonly Event[];
}

/** May be asynchronous: the commit resolves after it. It must not await a write of its own. */
export type Subscriber = (publication: Publication) => void | Promise<void>;
