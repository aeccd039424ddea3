// Events of onboarding runs. Their correlation id is that of the run.

import { Type } from 'typebox';
import { FAILURE_CLASSES, ONBOARDING_STEPS } from '../onboarding.ts';
import { also, nullable, number, rowsOf, text, texts } from './event-row.ts';

const row = rowsOf('onboarding');

const step = Type.Enum([...ONBOARDING_STEPS]);
const about = Type.Enum([...FAILURE_CLASSES]);
const run = { onboarding: text, hostname: text };
const failed = { ...run, attempt: number, step, class: about, cause: nullable(text), reason: text };

export const ONBOARDING_EVENTS = {
  'onboarding.requested': row(
    'info',
    { ...run, site: text, profile: text, sku: text, bmc_address: text },
    (data, actor) => `Onboarding of ${data.hostname} with profile ${data.profile} was requested by ${actor}`,
  ),
  'onboarding.unconfirmed': row(
    'warning',
    { ...run, site: text },
    (data) => `Onboarding waits for a confirmation: no run of site ${data.site} has been completed yet`,
  ),
  'onboarding.confirmed': row('info', run, (data, actor) => `Onboarding of ${data.hostname} was confirmed by ${actor}`),
  'onboarding.step': row(
    'info',
    { ...run, attempt: number, step, deadline: number },
    (data) => `Onboarding step ${data.step} begins, attempt ${data.attempt}`,
  ),
  'onboarding.step-ended': row(
    'info',
    { ...run, attempt: number, step, outcome: Type.Enum(['done', 'skipped']), reason: nullable(text) },
    (data) => `Onboarding step ${data.step} is ${data.outcome}${also(data.reason, (reason) => `: ${reason}`)}`,
  ),
  'onboarding.delayed': row(
    'warning',
    { ...run, attempt: number, step, reason: text },
    (data) => `Onboarding step ${data.step} cannot go on now and is tried again: ${data.reason}`,
  ),
  'onboarding.retried': row(
    'warning',
    failed,
    (data) => `Onboarding step ${data.step} failed (${data.class}) and is tried again: ${data.reason}`,
  ),
  'onboarding.failed': row(
    'error',
    { ...failed, candidates: texts },
    (data) =>
      `Onboarding failed in step ${data.step} (${data.class}): ${data.reason}${data.candidates.length === 0 ? '' : ` Candidates: ${data.candidates.join(', ')}`}`,
  ),
  'onboarding.reopened': row(
    'info',
    { ...run, attempt: number, step },
    (data, actor) => `Onboarding is tried again by ${actor}, attempt ${data.attempt}, from step ${data.step}`,
  ),
  'onboarding.cancelled': row(
    'warning',
    { ...run, note: nullable(text) },
    (data, actor) => `Onboarding was cancelled by ${actor}${also(data.note, (note) => `: ${note}`)}`,
  ),
  'onboarding.completed': row(
    'info',
    { ...run, attempt: number, seconds: number },
    (data) => `Onboarding is complete after ${data.seconds} s, attempt ${data.attempt}`,
  ),
};
