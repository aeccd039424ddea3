// Onboarding runs.

import { Type } from 'typebox';
import { FAILURE_CLASSES, ONBOARDING_STATES, ONBOARDING_STEPS } from '../../domain/onboarding.ts';
import { component, nullable, PageSize, refTo, Time } from './shared.ts';
import { Event } from './trail.ts';

const closed = { additionalProperties: false } as const;
const Step = Type.Enum([...ONBOARDING_STEPS]);

const OnboardingFailure = Type.Object({
  step: Step,
  attempt: Type.Integer(),
  at: Time,
  class: Type.Enum([...FAILURE_CLASSES], { description: 'What it is about, from evidence' }),
  cause: nullable(Type.String({ description: 'The cause of the diagnosis; null: none was found' })),
  reason: Type.String(),
  candidates: Type.Array(Type.String(), { description: 'The machines that it could have been' }),
});

export const Onboarding = component(
  'Onboarding',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    correlation_id: Type.String({ description: 'The same in all events of the run' }),
    state: Type.Enum([...ONBOARDING_STATES]),
    site_id: Type.String(),
    profile_id: Type.String(),
    sku_id: Type.String(),
    hostname: Type.String(),
    ipmi_ip: Type.String(),
    provider: Type.String(),
    node: nullable(Type.String({ description: 'The id of its node; null: not known yet' })),
    maas_system_id: nullable(Type.String({ description: 'Its machine in MAAS; null: not known yet, or not of MAAS' })),
    requested_by: Type.String(),
    created_at: Time,
    confirmed_by: nullable(Type.String()),
    cancelled_by: nullable(Type.String()),
    attempt: Type.Integer({ description: '1 for the first; each retry counts one more' }),
    step: nullable(Step),
    deadline: nullable(Time),
    delay: nullable(
      Type.String({ description: 'Why it cannot go on now: something does not answer. It is tried again' }),
    ),
    steps: Type.Array(
      Type.Object({
        step: Step,
        attempt: Type.Integer(),
        started_at: Time,
        deadline: Time,
        ended_at: nullable(Time),
        outcome: Type.Enum(['running', 'done', 'skipped', 'failed', 'cancelled']),
        reason: nullable(Type.String()),
      }),
    ),
    failure: nullable(OnboardingFailure),
    ended_at: nullable(Time),
    next_step: Type.String({ description: 'What an operator can do now' }),
    version: Type.Integer(),
  }),
);

/** Exactly these: everything else is policy of the site and the profile. */
export const NewOnboarding = Type.Object(
  {
    site_id: Type.String({ maxLength: 300 }),
    profile_id: Type.String({ maxLength: 300 }),
    sku_id: Type.String({ maxLength: 300 }),
    hostname: Type.String({ maxLength: 300 }),
    ipmi_ip: Type.String({ maxLength: 300, description: 'The IPv4 address of its BMC' }),
  },
  closed,
);

export const OnboardingReference = Type.Object({ onboarding: Type.String({ description: 'Its id' }) }, closed);

export const OnboardingFilter = Type.Object(
  {
    state: Type.Optional(Type.Enum([...ONBOARDING_STATES])),
    hostname: Type.Optional(Type.String({ maxLength: 300 })),
    limit: PageSize(50, 500),
  },
  closed,
);

export const OnboardingDetails = Type.Object({
  ...Onboarding.schema.properties,
  events: Type.Array(refTo(Event), { description: 'The newest events of its node since the request, oldest first' }),
});

export const OnboardingNote = Type.Object({ note: Type.Optional(Type.String({ maxLength: 1000 })) }, closed);

export const OnboardingConfirmation = Type.Object(
  { hostname: Type.String({ maxLength: 300, description: 'The host name of the run, typed again' }) },
  closed,
);
