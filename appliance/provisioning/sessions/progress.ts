// Whether a step moves. A hung disk keeps its reports coming with the same number, so packets prove nothing: a step stands still when it has
// moved by less than a mebibyte in two minutes, whether it reports that or falls silent. Only steps that count bytes are judged: others,
// such as a test of the memory, have nothing to move.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { SessionStep, StepProgress } from '../../domain/session.ts';

export const STALLED_AFTER = 2 * MINUTE;
/** The slowest link that can finish an installation moves this in seconds. */
const LEAST_MOVEMENT = 1024 * 1024;

interface CountedReport {
  readonly step: string;
  readonly status: SessionStep['status'];
  readonly bytes: number | null;
  readonly at: Instant;
}

/** Null: the report counts no bytes, or its step has ended. */
export function progressAfter(before: SessionStep | null, report: CountedReport): StepProgress | null {
  const { bytes, at } = report;
  if (bytes === null || report.status === 'done' || report.status === 'failed') return null;
  const known = before?.step === report.step ? before.progress : undefined;
  // Fewer bytes than before: it started over.
  const hasMoved = known === undefined || bytes >= known.moved.bytes + LEAST_MOVEMENT || bytes < known.moved.bytes;
  if (hasMoved) return { bytes, moved: { at, bytes }, stalledAt: null };
  return { bytes, moved: known.moved, stalledAt: known.stalledAt ?? (isDue(known, at) ? at : null) };
}

/** It stands still, and that is not on record yet. */
export const newlyStalled = (last: SessionStep | null, now: Instant): StepProgress | null =>
  last?.progress && last.progress.stalledAt === null && isDue(last.progress, now) ? last.progress : null;

const isDue = ({ moved }: StepProgress, now: Instant): boolean => now - moved.at >= STALLED_AFTER;
