// Whether a session still counts: it ends with its outcome, its deadline, a newer one, or the stay in the state it was made for.

import type { Instant } from '../../domain/instant.ts';
import { HOUR } from '../../domain/instant.ts';
import type { LifecycleState } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionEnd, SessionMode } from '../../domain/session.ts';
import type { LifecycleEvent } from '../../machines/transitions.ts';

/** Null: what is only looked at is not bound to a state. */
const STATE_OF: Readonly<Record<SessionMode, LifecycleState | null>> = {
  inspect: null,
  commission: 'commissioning',
  install: 'deploying',
  erase: 'releasing',
  rescue: 'rescue',
};

/** What the end of a session means to the machine's life; null: nothing. */
export const EVENT_OF: Readonly<
  Record<SessionMode, { readonly ok: LifecycleEvent; readonly failed: LifecycleEvent } | null>
> = {
  inspect: null,
  commission: { ok: 'commissioned', failed: 'commission-failed' },
  install: { ok: 'installed', failed: 'install-failed' },
  erase: { ok: 'released', failed: 'erase-failed' },
  rescue: null,
};

/** The stay that the script was handed out in still lasts. */
export function isWanted(machine: Machine, session: Pick<Session, 'mode' | 'ticketMadeAt'>): boolean {
  const { state, since, fallbackUsed } = machine.lifecycle;
  if (state === 'removed' || state === 'quarantined') return false;
  const wanted = STATE_OF[session.mode];
  return wanted === null || (state === wanted && since <= session.ticketMadeAt && !fallbackUsed);
}

const INSPECTION = HOUR;

/** A session lasts no longer than the state of its machine. */
export const sessionEnd = (machine: Machine, now: Instant): Instant => machine.lifecycle.deadline ?? now + INSPECTION;

export type SessionStanding =
  | { readonly open: true }
  | { readonly open: false; readonly how: SessionEnd; readonly reason: string };

export function sessionStanding(session: Session, machine: Machine | null, now: Instant): SessionStanding {
  if (session.ended) return { open: false, how: session.ended.how, reason: session.ended.reason ?? session.ended.how };
  if (machine === null) return { open: false, how: 'cancelled', reason: 'the machine is no longer there' };
  if (!isWanted(machine, session)) {
    return { open: false, how: 'cancelled', reason: `${machine.spec.hostname} is ${machine.lifecycle.state} now` };
  }
  if (session.expiresAt !== null && now >= session.expiresAt) {
    return { open: false, how: 'expired', reason: 'the session has lasted too long' };
  }
  return { open: true };
}
