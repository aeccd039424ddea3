// The result of a session: the lifecycle event that follows, and what the machine does next.

import type { Session, SessionMode } from '../../domain/session.ts';
import type { LifecycleEvent } from '../../machines/transitions.ts';
import { boundedMessage, type OutcomeBody } from './reports.ts';
import { outcomeEvents } from './session-eligibility.ts';

export type NextStep = 'reboot' | 'power-off' | 'wait';

export interface ResolvedOutcome {
  readonly ok: boolean;
  readonly event: LifecycleEvent | null;
  /** Null when nothing failed. */
  readonly reason: string | null;
}

/** A machine that reported no facts was not commissioned, even if its outcome is ok. */
export function resolveOutcome(
  session: Session,
  body: OutcomeBody,
  hasFacts: boolean,
  /** What the machine lacks that its SKU requires. */
  lacks: readonly string[] = [],
): ResolvedOutcome {
  const events = outcomeEvents(session.mode);
  if (body.ok && session.mode === 'commission' && !hasFacts) {
    return { ok: false, event: 'commission-failed', reason: 'the tests passed, but no facts were reported' };
  }
  if (body.ok && session.mode === 'commission' && lacks.length > 0) {
    return { ok: false, event: 'commission-failed', reason: `it has less than its SKU requires: ${lacks.join('; ')}` };
  }
  if (body.ok) return { ok: true, event: events?.ok ?? null, reason: null };
  const step = body.step ?? session.last?.step ?? null;
  const why = boundedMessage(body.reason) ?? session.last?.message ?? 'no reason was given';
  return { ok: false, event: events?.failed ?? null, reason: step === null ? why : `${step}: ${why}` };
}

/** After a failure the machine stays on: the technician needs what its screen shows. */
export function nextStep(mode: SessionMode, ok: boolean): NextStep {
  if (!ok || mode === 'inspect') return 'wait';
  return mode === 'install' || mode === 'rescue' ? 'reboot' : 'power-off';
}
