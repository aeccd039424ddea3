// Diagnoses and timelines as the API shows them.

import type { Answer } from '../../contract/wire.ts';
import { type Instant, instantText } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import type { Diagnosis } from '../../trail/diagnose.ts';
import type { RankedCause } from '../../trail/diagnosis/rank.ts';
import type { CurrentStage } from '../../trail/diagnosis/signs.ts';
import type { SiteProblem } from '../../trail/diagnosis/site.ts';
import { allowedTime, type ExpectedTimes, STAGES, type StageTimes } from '../../trail/diagnosis/stages.ts';
import type { Timeline } from '../../trail/diagnosis/timeline.ts';
import { timeText } from './time-text.ts';

const inSeconds = (time: Instant): number => Math.round(time / 100) / 10;

export function diagnosisView(
  { spec, lifecycle }: Machine,
  { causes, stage, symptom }: Diagnosis,
): Answer<'diagnoseNode'> {
  const [first, ...others] = causes.map(causeView);
  return {
    node: spec.hostname,
    state: lifecycle.state,
    waits_for: STATES[lifecycle.state].waitsFor,
    symptom,
    stage: stage && stageView(stage),
    diagnosis: first ?? null,
    alternatives: others,
  };
}

const causeView = ({ id, owner, reason, confidence, explains, evidence, against, nextStep, verify }: RankedCause) => ({
  ...{ id, owner, reason, confidence, explains, verify },
  evidence: evidence.map((one) => ({ ...one, at: timeText(one.at) })),
  against: against.map((one) => ({ ...one, at: timeText(one.at) })),
  next_step: nextStep,
});

const stageView = ({ stage, began, allowed, expected, overdue }: CurrentStage) => ({
  stage,
  waits_for: STAGES[stage].until,
  began: instantText(began),
  allowed_seconds: inSeconds(allowed),
  expected: expected && timesView(expected),
  overdue,
});

const timesView = ({ median, p90, samples }: StageTimes) => ({
  median_seconds: inSeconds(median),
  p90_seconds: inSeconds(p90),
  samples,
});

export const siteProblemView = ({ nextStep, since, nodes, common, ...problem }: SiteProblem) => ({
  ...problem,
  nodes: [...nodes],
  common: [...common],
  since: instantText(since),
  next_step: nextStep,
});

export function timelineView(
  node: string,
  work: string | null,
  { began, ended, attempts, visits, steps }: Timeline,
  { expected, now }: { readonly expected: ExpectedTimes; readonly now: Instant },
): Answer<'getNodeTimeline'> {
  return {
    node,
    work,
    began: timeText(began),
    ended: timeText(ended),
    attempts,
    stages: visits.map((visit) => {
      const times = expected[visit.stage];
      const took = (visit.ended ?? now) - visit.began;
      return {
        stage: visit.stage,
        waits_for: STAGES[visit.stage].until,
        began: instantText(visit.began),
        ended: timeText(visit.ended),
        seconds: inSeconds(took),
        expected: times === undefined ? null : timesView(times),
        overdue: visit.stage !== 'work' && took > allowedTime(visit.stage, expected),
      };
    }),
    steps: steps.map((step) => ({
      step: step.step,
      began: instantText(step.began),
      ended: timeText(step.ended),
      ok: step.ok,
    })),
  };
}
