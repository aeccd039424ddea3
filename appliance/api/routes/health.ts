import { Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { ServiceState, Services } from '../deps.ts';

const State = Type.Enum(['running', 'off', 'starting', 'failed']);
const Health = Type.Object({
  status: Type.Enum(['healthy', 'starting', 'degraded']),
  services: Type.Object({ dhcp: State, tftp: State, http: State }),
});

export function healthRoute(app: App, services: () => Services): void {
  app.get(
    '/health',
    {
      config: { access: 'public' },
      schema: {
        summary: 'Whether the services that the site file names are up',
        tags: ['health'],
        response: { 200: Health, 503: Health },
      },
    },
    async (_request, reply) => {
      const states = services();
      const status = overall(Object.values(states));
      return reply.code(status === 'healthy' ? 200 : 503).send({ status, services: states });
    },
  );
}

function overall(states: readonly ServiceState[]): 'healthy' | 'starting' | 'degraded' {
  if (states.includes('failed')) return 'degraded';
  return states.includes('starting') ? 'starting' : 'healthy';
}
