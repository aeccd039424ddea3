// The operations of onboarding runs.

import { type Operation, V1, WRITES } from '../operation.ts';

const RUN = `${V1}/onboardings/:onboarding`;
const viewer = { method: 'GET', access: 'viewer', tag: 'onboardings', errors: [], write: null } as const;
const operator = { method: 'POST', access: 'operator', tag: 'onboardings' } as const;

export const ONBOARDING_OPERATIONS = {
  createOnboarding: {
    ...operator,
    path: `${V1}/onboardings`,
    summary: 'Take one host from its BMC address to an enrolled node; the data on its disk is lost',
    status: 201,
    errors: ['conflict', 'invalid_sku'],
    write: WRITES,
    cli: 'onboard',
  },
  listOnboardings: {
    ...viewer,
    path: `${V1}/onboardings`,
    summary: 'List onboarding runs, the newest first',
    cli: 'onboardings list',
  },
  getOnboarding: {
    ...viewer,
    path: RUN,
    summary: 'Show an onboarding run: its steps, its failure and the events of its node',
    cli: 'onboardings show',
  },
  confirmOnboarding: {
    ...operator,
    path: `${RUN}/confirm`,
    summary: 'Confirm the first run of a site: it begins now',
    errors: ['conflict'],
    write: WRITES,
    cli: 'onboardings confirm',
  },
  cancelOnboarding: {
    ...operator,
    path: `${RUN}/cancel`,
    summary: 'Cancel an onboarding run and the work that it started',
    errors: ['conflict'],
    write: { ...WRITES, idempotent: true },
    cli: 'onboardings cancel',
  },
  retryOnboarding: {
    ...operator,
    path: `${RUN}/retry`,
    summary: 'Try a failed onboarding run again, from the step that failed',
    errors: ['conflict'],
    write: WRITES,
    cli: 'onboardings retry',
  },
} as const satisfies Readonly<Record<string, Operation>>;
