// The management API for people and automation. Served on TCP with tokens and on the unix socket without.

import swagger from '@fastify/swagger';
import { COMPONENTS } from '../contract/schemas/components.ts';
import { guardRoutes } from './access.ts';
import { type App, createApp } from './base-app.ts';
import type { ManagementDeps } from './deps.ts';
import type { HandlerDeps } from './handler.ts';
import { OPEN_API } from './open-api-options.ts';
import { operationRoutes } from './operation-routes.ts';

import { acceptStreams } from './streams.ts';
import { acceptUpgrades, wantsUpgrade } from './upgrade.ts';

/** Routes that are not operations of the table. */
export type Mount = (app: App, deps: HandlerDeps) => void;

export async function buildManagementApi(deps: ManagementDeps, mount: Mount = () => {}): Promise<App> {
  const app = createApp({ ...deps, upgrades: wantsUpgrade });
  const upgrades = acceptUpgrades(app);
  guardRoutes(app, deps.authenticate);
  await app.register(swagger, OPEN_API);
  for (const { schema } of COMPONENTS) app.addSchema(schema);

  const streams = acceptStreams(app);
  const handlerDeps = { ...deps, describe: () => app.swagger() };
  operationRoutes(app, { deps: handlerDeps, upgrades, streams });
  mount(app, handlerDeps);
  deps.furtherRoutes?.(app);
  await app.ready();
  return app;
}
