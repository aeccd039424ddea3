// Which consoles are captured: those of machines that are being worked on or whose first boot is expected, and for some time after.
// Pure: the time is a parameter.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import { awaitsEnrollment, runsSession } from '../../domain/lifecycle.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';

export interface CaptureWish {
  readonly machine: MachineId;
  readonly since: Instant;
  /** Null: as long as the state lasts. */
  readonly until: Instant | null;
  /** An operator works at the machine: the appliance waits for nothing. */
  readonly byHand: boolean;
}

/** What a machine says after the work explains why it does not come up, or does not stay up. */
const AFTERWARDS = 10 * MINUTE;
/** A failed enrollment may still succeed; nobody wants to see its console for days. */
const FAILED_ENROLLMENT = 60 * MINUTE;

/** Null: not captured. `before` is the wish until now. */
export function captureWish({ id, lifecycle }: Machine, before: CaptureWish | null, now: Instant): CaptureWish | null {
  const since = before?.since ?? now;
  if (lifecycle.state === 'removed') return null;
  if (runsSession(lifecycle.state)) return { machine: id, since, until: null, byHand: lifecycle.state === 'rescue' };
  if (awaitsEnrollment(lifecycle)) {
    const until = lifecycle.state === 'failed' ? lifecycle.since + FAILED_ENROLLMENT : null;
    return until === null || until > now ? { machine: id, since, until, byHand: false } : null;
  }
  if (before === null) return null;
  const until = before.until ?? now + AFTERWARDS;
  return until > now ? { ...before, until } : null;
}

/**
 * The wishes that are granted when there are more than can be: work first, then rescues, then what has ended already; within each,
 * first come, first served.
 */
export const grantedWishes = (wishes: Iterable<CaptureWish>, most: number): readonly CaptureWish[] =>
  [...wishes].sort((a, b) => rank(a) - rank(b) || a.since - b.since).slice(0, most);

const rank = ({ until, byHand }: CaptureWish): number => (until !== null ? 2 : byHand ? 1 : 0);
