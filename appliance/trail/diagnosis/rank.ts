// Orders the causes that were found: the most specific one that explains where the machine stopped comes first.

import { again, installAgain, needsStart } from './again.ts';
import { type Cause, CONFIDENCES, type Evidence, type Finding, filled, type Owner } from './cause.ts';
import type { Signs } from './signs.ts';
import { STAGE_ORDER, STAGES } from './stages.ts';

export interface RankedCause {
  /** Stable. */
  readonly id: string;
  readonly owner: Owner;
  readonly reason: string;
  readonly confidence: Finding['confidence'];
  /** It explains why the machine stopped in its current stage. */
  readonly explains: boolean;
  readonly evidence: readonly Evidence[];
  readonly against: readonly Evidence[];
  readonly nextStep: string;
  /** How to see that the next step worked. */
  readonly verify: string;
}

interface Candidate {
  readonly cause: Cause;
  readonly finding: Finding;
  readonly explains: boolean;
}

export function rankedCauses(causes: readonly Cause[], signs: Signs): RankedCause[] {
  const candidates = causes.flatMap((cause): Candidate[] => {
    const finding = cause.assess(signs);
    return finding ? [{ cause, finding, explains: explains(cause, signs) }] : [];
  });
  // The sort is stable: the order of the causes decides what is equal otherwise.
  return candidates.sort(compared).map((candidate) => rendered(candidate, signs));
}

const explains = ({ stages }: Cause, { current }: Signs): boolean =>
  stages === 'any' || (current !== null && stages.includes(current.stage));

function compared(one: Candidate, other: Candidate): number {
  return (
    Number(other.explains) - Number(one.explains) ||
    CONFIDENCES.indexOf(one.finding.confidence) - CONFIDENCES.indexOf(other.finding.confidence) ||
    Number(contradicted(one)) - Number(contradicted(other)) ||
    other.cause.specificity - one.cause.specificity
  );
}

const contradicted = ({ finding }: Candidate): boolean => (finding.against?.length ?? 0) > 0;

function rendered({ cause, finding, explains: does }: Candidate, signs: Signs): RankedCause {
  const values = { node: signs.hostname, again: again(signs), install: installAgain(signs), ...finding.values };
  // A value may be a template with {node}.
  const text = (template: string): string => filled(filled(template, values), values);
  return {
    id: cause.id,
    owner: cause.owner ?? 'operator',
    reason: text(cause.reason),
    confidence: finding.confidence,
    explains: does,
    evidence: finding.evidence,
    against: finding.against ?? [],
    nextStep: text(withStart(cause, signs)),
    verify: text(cause.verify ?? usualVerification(signs)),
  };
}

/** Where a machine does not go on by itself after the cause is removed, the next step also starts it again. */
function withStart({ nextStep, goesOn }: Cause, signs: Signs): string {
  if (nextStep.includes('{again}') || !needsStart(signs, goesOn === true)) return nextStep;
  const ends = /\.$/.test(nextStep) ? '' : '.';
  return `${nextStep}${ends} Then start it again, unless it goes on by itself: {again}`;
}

function usualVerification({ current }: Signs): string {
  const next = current === null ? undefined : STAGE_ORDER[STAGE_ORDER.indexOf(current.stage) + 1];
  return current === null || next === undefined
    ? 'coldiron diagnose {node} finds no problem.'
    : `coldiron timeline {node} shows that it no longer waits for ${STAGES[current.stage].until}.`;
}
