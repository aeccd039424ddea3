import { Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { Services } from '../deps.ts';

const State = Type.Enum(['running', 'off', 'failed']);
const Health = Type.Object({
  status: Type.Enum(['healthy', 'degraded']),
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
      const failed = Object.values(states).includes('failed');
      return reply.code(failed ? 503 : 200).send({ status: failed ? 'degraded' : 'healthy', services: states });
    },
  );
}
