// Whether a session is still valid: it ends with its outcome, its deadline, a newer session, or its state visit.

import type { Instant } from '../../domain/instant.ts';
import { HOUR } from '../../domain/instant.ts';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session, SessionEnd, SessionMode } from '../../domain/session.ts';
import { STATES } from '../../domain/states.ts';
import type { LifecycleEvent } from '../../machines/transitions.ts';

/** The events that the outcome of a session reports; null: the outcome changes nothing. */
export function outcomeEvents(
  mode: SessionMode,
): { readonly ok: LifecycleEvent; readonly failed: LifecycleEvent } | null {
  const session = LIFECYCLE_STATES.map((state) => STATES[state].session).find((each) => each?.mode === mode);
  return session?.succeeded && session.failed ? { ok: session.succeeded, failed: session.failed } : null;
}

/** The machine is still in the state visit that the script was issued in. */
export function isSessionCurrent(machine: Machine, session: Pick<Session, 'mode' | 'ticketMadeAt'>): boolean {
  const { state, since, fallbackUsed } = machine.lifecycle;
  if (STATES[state].boots.into === 'refusal') return false;
  // An inspection only reads, so it is not bound to a state.
  if (session.mode === 'inspect') return true;
  return STATES[state].session?.mode === session.mode && since <= session.ticketMadeAt && !fallbackUsed;
}

const INSPECTION = HOUR;

/** A session lasts no longer than the state of its machine. */
export const sessionEnd = (machine: Machine, now: Instant): Instant => machine.lifecycle.deadline ?? now + INSPECTION;

export type SessionEligibility =
  | { readonly open: true }
  | { readonly open: false; readonly how: SessionEnd; readonly reason: string };

export function sessionEligibility(session: Session, machine: Machine | null, now: Instant): SessionEligibility {
  if (session.ended) return { open: false, how: session.ended.how, reason: session.ended.reason ?? session.ended.how };
  if (machine === null) return { open: false, how: 'cancelled', reason: 'the machine was removed' };
  if (!isSessionCurrent(machine, session)) {
    return { open: false, how: 'cancelled', reason: `${machine.spec.hostname} is ${machine.lifecycle.state} now` };
  }
  if (session.expiresAt !== null && now >= session.expiresAt) {
    return { open: false, how: 'expired', reason: 'the session has expired' };
  }
  return { open: true };
}
