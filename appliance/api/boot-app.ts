// The provisioning listener: machines without credentials use it, so all its routes are public.

import { OPERATIONS } from '../contract/operations.ts';
import type { ApplianceProblem } from '../domain/appliance-problem.ts';
import { guardRoutes } from './access.ts';
import { type App, type AppEdge, createApp } from './base-app.ts';
import type { Services } from './deps.ts';
import { bootHealthOf } from './health.ts';

export interface BootAppDeps extends AppEdge {
  readonly services: () => Services;
  readonly applianceProblems: () => readonly ApplianceProblem[];
}

export async function buildBootApp(edge: BootAppDeps): Promise<App> {
  const app = createApp(edge);
  guardRoutes(app, async () => ({
    known: false,
    reason: 'this port does not accept tokens; use the management port',
    retryAfterSeconds: null,
  }));
  const { path, access } = OPERATIONS.getHealth;
  app.get(path, { config: { access } }, (_request, reply) => {
    const { status, answer } = bootHealthOf(edge.services(), edge.applianceProblems());
    return reply.code(status).send(answer);
  });
  await app.ready();
  return app;
}
