// Handlers of onboarding runs.

import type { Onboarding } from '../../domain/onboarding.ts';
import type { HandlerDeps, Handlers } from '../handler.ts';
import { onboardingView } from '../views/onboarding.ts';
import { eventView } from '../views/trail.ts';

const EVENTS_SHOWN = 200;

export const onboardingHandlers: Handlers<
  | 'createOnboarding'
  | 'listOnboardings'
  | 'getOnboarding'
  | 'confirmOnboarding'
  | 'cancelOnboarding'
  | 'retryOnboarding'
> = {
  createOnboarding: async ({ onboardings }, { body, origin, role }) =>
    onboardingView(await onboardings.request(body, origin, role)),

  async listOnboardings({ onboardings }, { query: { limit = 50, ...filter } }) {
    return { onboardings: (await onboardings.list({ ...filter, limit })).map(onboardingView) };
  },

  async getOnboarding(deps, { params }) {
    const run = await deps.onboardings.one(params.onboarding);
    return { ...onboardingView(run), events: await eventsOf(deps, run) };
  },

  confirmOnboarding: async ({ onboardings }, { params, body, origin }) =>
    onboardingView(await onboardings.confirm(params.onboarding, body.hostname, origin)),

  cancelOnboarding: async ({ onboardings }, { params, body: { note }, origin }) =>
    onboardingView(await onboardings.cancel(params.onboarding, { ...origin, ...(note !== undefined && { note }) })),

  retryOnboarding: async ({ onboardings }, { params, body: { note }, origin }) =>
    onboardingView(await onboardings.retry(params.onboarding, { ...origin, ...(note !== undefined && { note }) })),
};

async function eventsOf({ store, fleet }: HandlerDeps, { machine, createdAt, endedAt }: Onboarding) {
  if (machine === null) return [];
  const events = await store.events({ machine, limit: EVENTS_SHOWN, newest: true });
  return events
    .filter(({ at }) => at >= createdAt && (endedAt === null || at <= endedAt))
    .map((event) => eventView(event, fleet));
}
