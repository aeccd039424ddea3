// The provisioning side: machines without any credential talk to it, so everything on it is public.

import { guardRoutes } from './access.ts';
import { type App, type AppEdge, createApp } from './base-app.ts';
import type { Services } from './deps.ts';
import { healthRoute } from './routes/health.ts';

export async function buildBootApp(edge: AppEdge & { readonly services: () => Services }): Promise<App> {
  const app = createApp(edge);
  guardRoutes(app, async () => ({
    known: false,
    reason: 'nobody can log in here; use the management port',
    retryAfterSeconds: null,
  }));
  healthRoute(app, edge.services);
  await app.ready();
  return app;
}
