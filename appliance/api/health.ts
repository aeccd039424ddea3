// Whether the services that the site file names are up. Both the management and the boot listener answer it.

import type { Answer } from '../contract/wire.ts';
import type { Services } from './deps.ts';

export function healthOf(services: Services): { status: 200 | 503; answer: Answer<'getHealth'> } {
  const failed = Object.values(services).includes('failed');
  return { status: failed ? 503 : 200, answer: { status: failed ? 'degraded' : 'healthy', services } };
}
