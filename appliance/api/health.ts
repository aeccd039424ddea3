// Health of the appliance. Both the management and the boot listener serve it, to anybody: neither tells more than the kinds of problems.
// Details are for those who may read (`listApplianceProblems`).

import type { Answer } from '../contract/wire.ts';
import { type ApplianceProblem, degrades } from '../domain/appliance-problem.ts';
import type { ServiceState, Services } from './deps.ts';

interface Health {
  readonly status: 200 | 503;
  readonly answer: Answer<'getHealth'>;
}

type Problems = readonly Pick<ApplianceProblem, 'id'>[];

/** For monitoring: a problem of the appliance is a degraded appliance, and its kind is named. */
export function healthOf(services: Services, problems: Problems): Health {
  const serious = problems.filter(degrades);
  const status = overall(Object.values(services), serious.length > 0);
  const named = [...new Set(serious.map(({ id }) => id))].sort();
  return {
    status: status === 'healthy' ? 200 : 503,
    answer: { status, services, ...(named.length > 0 && { problems: named }) },
  };
}

/**
 * For machines, which look here whether the appliance answers: the code is that of the services alone. A machine that finds an appliance
 * with a full disk still has to wait for it, and not to give it up.
 */
export function bootHealthOf(services: Services, problems: Problems): Health {
  const { answer } = healthOf(services, problems);
  return { status: healthOf(services, []).status, answer: { status: answer.status, services } };
}

function overall(states: readonly ServiceState[], hasProblems: boolean): Answer<'getHealth'>['status'] {
  if (states.includes('failed')) return 'degraded';
  if (states.includes('starting')) return 'starting';
  return hasProblems ? 'degraded' : 'healthy';
}
