// What the end of a session means: to the machine's life, and for what the machine does next.

import type { Session, SessionMode } from '../../domain/session.ts';
import type { LifecycleEvent } from '../../machines/transitions.ts';
import { boundedMessage, type OutcomeBody } from './reports.ts';
import { outcomeEvents } from './session-eligibility.ts';

export type NextStep = 'reboot' | 'power-off' | 'wait';

export interface JudgedOutcome {
  readonly ok: boolean;
  readonly event: LifecycleEvent | null;
  /** Null when nothing failed. */
  readonly reason: string | null;
}

/** A machine that reported no facts was not commissioned, whatever it says. */
export function judgeOutcome(session: Session, told: OutcomeBody, hasFacts: boolean): JudgedOutcome {
  const events = outcomeEvents(session.mode);
  if (told.ok && session.mode === 'commission' && !hasFacts) {
    return { ok: false, event: 'commission-failed', reason: 'the tests passed, but no facts were reported' };
  }
  if (told.ok) return { ok: true, event: events?.ok ?? null, reason: null };
  const step = told.step ?? session.last?.step ?? null;
  const why = boundedMessage(told.reason) ?? session.last?.message ?? 'no reason was given';
  return { ok: false, event: events?.failed ?? null, reason: step === null ? why : `${step}: ${why}` };
}

/** After a failure the machine stays as it is: what its screen shows is what the technician needs. */
export function nextStep(mode: SessionMode, ok: boolean): NextStep {
  if (!ok || mode === 'inspect') return 'wait';
  return mode === 'install' || mode === 'rescue' ? 'reboot' : 'power-off';
}
