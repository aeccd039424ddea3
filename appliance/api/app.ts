// The management API: what people and automation call. Served on TCP with tokens and on the unix socket without.

import swagger from '@fastify/swagger';
import { guardRoutes } from './access.ts';
import { type App, createApp } from './base-app.ts';
import type { ManagementDeps } from './deps.ts';
import { OPEN_API } from './open-api-options.ts';
import { adminNodeRoutes } from './routes/admin-nodes.ts';
import { auditRoutes } from './routes/audit.ts';
import { authorityRoutes } from './routes/authority.ts';
import { bmcRoutes } from './routes/bmc.ts';
import { bmcFleetRoutes } from './routes/bmc-fleet.ts';
import { bmcKeyRoutes } from './routes/bmc-keys.ts';
import { bootContractRoute } from './routes/boot-contract.ts';
import { catalogueRoutes } from './routes/catalogue.ts';
import { consoleRoute } from './routes/console.ts';
import { diagnosisRoute } from './routes/diagnosis.ts';
import { enrollmentRoutes } from './routes/enrollment.ts';
import { eventRoutes } from './routes/events.ts';
import { explainRoute } from './routes/explain.ts';
import { healthRoute } from './routes/health.ts';
import { inventoryRoutes } from './routes/inventory.ts';
import { leaseRoutes } from './routes/leases.ts';
import { listenerRoute } from './routes/listeners.ts';
import { nodeActionRoutes } from './routes/node-actions.ts';
import { nodeWorkRoutes } from './routes/node-work.ts';
import { nodeRoutes } from './routes/nodes.ts';
import { openApiRoute } from './routes/open-api.ts';
import { renderingRoutes } from './routes/renderings.ts';
import { taskRoutes } from './routes/tasks.ts';
import { tokenRoutes } from './routes/tokens.ts';
import { COMPONENTS } from './schemas/components.ts';
import { acceptUpgrades, wantsUpgrade } from './upgrade.ts';

export async function buildManagementApi(deps: ManagementDeps): Promise<App> {
  const app = createApp({ ...deps, upgrades: wantsUpgrade });
  const upgrades = acceptUpgrades(app);
  guardRoutes(app, deps.authenticate);
  await app.register(swagger, OPEN_API);
  for (const { schema } of COMPONENTS) app.addSchema(schema);

  healthRoute(app, deps.services);
  await app.register(
    (api: App, _options, registered) => {
      nodeRoutes(api, deps);
      nodeActionRoutes(api, deps);
      nodeWorkRoutes(api, deps);
      diagnosisRoute(api, deps);
      explainRoute(api, deps);
      bmcRoutes(api, deps);
      bmcKeyRoutes(api, deps);
      bmcFleetRoutes(api, deps);
      consoleRoute(api, deps, upgrades);
      adminNodeRoutes(api, deps);
      catalogueRoutes(api, deps);
      leaseRoutes(api, deps);
      eventRoutes(api, deps);
      auditRoutes(api, deps);
      tokenRoutes(api, deps);
      enrollmentRoutes(api, deps);
      authorityRoutes(api, deps);
      taskRoutes(api, deps);
      inventoryRoutes(api, deps);
      renderingRoutes(api, deps);
      bootContractRoute(api, deps);
      listenerRoute(api, deps);
      openApiRoute(api);
      registered();
    },
    { prefix: '/api/v1' },
  );
  await app.ready();
  return app;
}
