// An onboarding run as the API shows it.

import type { Static } from 'typebox';
import type { Onboarding as OnboardingSchema } from '../../contract/schemas/onboarding.ts';
import { instantText } from '../../domain/instant.ts';
import { currentStep, type Onboarding, type StepRecord } from '../../domain/onboarding.ts';
import { timeText } from './time-text.ts';

export function onboardingView(run: Onboarding): Static<typeof OnboardingSchema.schema> {
  const { request, failure } = run;
  const step = currentStep(run);
  const isRunning = run.state === 'running' && step?.outcome === 'running';
  return {
    id: run.id,
    correlation_id: run.correlationId,
    state: run.state,
    site_id: request.site,
    profile_id: request.profile,
    sku_id: request.sku,
    hostname: request.hostname,
    ipmi_ip: request.bmcAddress,
    provider: run.provider,
    node: run.machine,
    maas_system_id: run.provider === 'maas' ? run.reference : null,
    requested_by: run.requestedBy,
    created_at: instantText(run.createdAt),
    confirmed_by: run.confirmedBy,
    cancelled_by: run.cancel?.by ?? null,
    attempt: run.attempt,
    step: step?.step ?? null,
    deadline: timeText(isRunning ? step.deadline : null),
    delay: run.state === 'running' ? (run.delay ?? null) : null,
    steps: run.steps.map(stepView),
    failure: failure && { ...failure, at: instantText(failure.at), candidates: [...failure.candidates] },
    ended_at: timeText(run.endedAt),
    next_step: nextStepOf(run),
    version: run.version,
  };
}

const stepView = ({ step, attempt, startedAt, deadline, endedAt, outcome, reason }: StepRecord) => ({
  ...{ step, attempt, outcome, reason },
  started_at: instantText(startedAt),
  deadline: instantText(deadline),
  ended_at: timeText(endedAt),
});

function nextStepOf({ id, state, request, failure, machine }: Onboarding): string {
  switch (state) {
    case 'awaiting-confirmation':
      return `Check that ${request.hostname} is the right host, then confirm it: coldiron onboardings confirm ${id}`;
    case 'running':
      return `Wait for it, or stop it: coldiron onboardings cancel ${id}`;
    case 'completed':
    case 'cancelled':
      return 'There is nothing to do.';
    case 'failed': {
      const look = machine === null ? '' : ` Find out more: coldiron diagnose ${request.hostname}.`;
      const which = failure?.candidates.length ? 'Decide which machine it is and declare it' : 'Fix the cause';
      return `${which}, then try it again: coldiron onboardings retry ${id}.${look}`;
    }
  }
}
