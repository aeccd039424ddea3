// Health of the services that the site file declares. Both the management and the boot listener serve it.

import type { Answer } from '../contract/wire.ts';
import type { ServiceState, Services } from './deps.ts';

export function healthOf(services: Services): { status: 200 | 503; answer: Answer<'getHealth'> } {
  const status = overall(Object.values(services));
  return { status: status === 'healthy' ? 200 : 503, answer: { status, services } };
}

function overall(states: readonly ServiceState[]): Answer<'getHealth'>['status'] {
  if (states.includes('failed')) return 'degraded';
  return states.includes('starting') ? 'starting' : 'healthy';
}
