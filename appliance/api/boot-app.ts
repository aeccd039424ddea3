// The provisioning side: machines without any credential talk to it, so everything on it is public.

import { OPERATIONS } from '../contract/operations.ts';
import { guardRoutes } from './access.ts';
import { type App, type AppEdge, createApp } from './base-app.ts';
import type { Services } from './deps.ts';
import { healthOf } from './health.ts';

export async function buildBootApp(edge: AppEdge & { readonly services: () => Services }): Promise<App> {
  const app = createApp(edge);
  guardRoutes(app, async () => ({
    known: false,
    reason: 'nobody can log in here; use the management port',
    retryAfterSeconds: null,
  }));
  const { path, access } = OPERATIONS.getHealth;
  app.get(path, { config: { access } }, (_request, reply) => {
    const { status, answer } = healthOf(edge.services());
    return reply.code(status).send(answer);
  });
  await app.ready();
  return app;
}
