// A change: everything that one command writes about one machine. `Store.commit` writes it in one transaction or not at all.

import type { EffectId, NewEffect } from '../domain/effect.ts';
import type { Event, NewAuditEntry, NewEvent, Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { ArmedIntent, IntentId } from '../domain/intent.ts';
import type { Health, Lifecycle } from '../domain/lifecycle.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import type { Branded } from '../domain/parsed.ts';
import type { SessionEnd, SessionId } from '../domain/session.ts';
import type { EnrollmentTokenId, NewEnrollmentToken, Redemption, Renewal } from './enrollment-store.ts';
import type { MachineFacts, NewTicket, Opening, Reopening, SessionReport } from './session-store.ts';

/** Names one request. Whoever repeats a request repeats its id, and gets the result of the first one. */
export type CommandId = Branded<string, 'CommandId'>;

/** Every kind of write, with its precondition. A write whose precondition does not hold refuses the whole change. */
export type Write =
  /** Revokes any open intent of the machine. */
  | { readonly kind: 'arm-intent'; readonly intent: ArmedIntent }
  /** Without an open intent it writes nothing. */
  | { readonly kind: 'revoke-intents'; readonly at: Instant }
  /** Refused unless the intent is open and unexpired: it succeeds for exactly one caller. */
  | { readonly kind: 'consume-intent'; readonly intent: IntentId; readonly at: Instant }
  /** Replaces a ticket that nobody has used: only the newest script of a machine opens a session. */
  | { readonly kind: 'put-ticket'; readonly ticket: NewTicket }
  /** Refused unless the ticket is unused and unexpired. Older open sessions of the machine end with it. */
  | { readonly kind: 'open-session'; readonly opening: Opening }
  /** A new key for the opener with the same nonce. Refused after the first report, and for another nonce. */
  | { readonly kind: 'reopen-session'; readonly reopening: Reopening }
  /** Refused when the report was seen before, or the session has ended. */
  | { readonly kind: 'report-step'; readonly report: SessionReport }
  /** Refused unless the session is open. */
  | { readonly kind: 'end-session'; readonly session: SessionId; readonly end: SessionEnding }
  /** Everything of the machine that is open or could be opened. */
  | { readonly kind: 'end-sessions'; readonly end: SessionEnding }
  /** Refused the second time: a secret file is given out once. */
  | { readonly kind: 'take-session-file'; readonly session: SessionId; readonly name: string; readonly at: Instant }
  | { readonly kind: 'put-facts'; readonly facts: MachineFacts }
  /** Refused when the health is the same already. */
  | { readonly kind: 'set-health'; readonly health: Health }
  /** Refused unless `replaces` is the token that is open now (null: none is good at the new one's start). */
  | { readonly kind: 'issue-token'; readonly token: NewEnrollmentToken; readonly replaces: EnrollmentTokenId | null }
  /** Refused unless the token is open, unexpired and of this machine; see `Redemption`. */
  | { readonly kind: 'redeem-token'; readonly redemption: Redemption }
  /** Refused unless the same key used the token after `since`, and its certificate was never shown. */
  | { readonly kind: 'repeat-redemption'; readonly redemption: Redemption; readonly since: Instant }
  | { readonly kind: 'renew-certificate'; readonly renewal: Renewal }
  /** Every token and certificate of the machine; its health is unknown from then on. */
  | { readonly kind: 'revoke-identity'; readonly revocation: IdentityRevocation }
  /** Refused unless the effect is running, as the next two. */
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
  /** Written only when the health was another. */
  readonly healthEvent: NewEvent;
}

export interface Change {
  /** Null: repeating it is harmless without an id, because a precondition refuses the second one. */
  readonly command: { readonly id: CommandId; readonly digest: string } | null;
  readonly at: Instant;
  readonly machine: MachineId;
  /** The version that the change was decided on; null: the preconditions of its writes are enough. */
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
  /** The command was committed before; `machine` is as that commit left it. Nothing was written now. */
  | { readonly outcome: 'repeated'; readonly machine: Machine }
  | RefusedChange;

/** What a command came to, as it was recorded. */
export interface RecordedCommand {
  readonly digest: string;
  readonly machine: Machine;
}

/** What subscribers hear of each commit. */
export interface Publication {
  /** Null: an inventory was written. */
  readonly change: Change | null;
  /** The machine as the change left it; null: several changed, or the catalogue did. */
  readonly machine: Machine | null;
  readonly revision: number;
  readonly events: readonly Event[];
}

/** May be asynchronous: the commit resolves afterwards. It must not wait for a write of its own. */
export type Subscriber = (publication: Publication) => void | Promise<void>;
