import { Type } from 'typebox';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { Quirk, quirkView, ScanAnswer, ScanRequest } from '../schemas/bmc.ts';
import { refTo } from '../schemas/shared.ts';

const tags = ['bmc'];

export function bmcFleetRoutes(app: App, { bmc, store }: ManagementDeps): void {
  app.get(
    '/bmc/quirks',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'Which ways to boot from the network were obeyed, by kind of BMC',
        tags,
        response: { 200: Type.Object({ quirks: Type.Array(refTo(Quirk)) }) },
      },
    },
    async () => ({ quirks: (await store.bmcQuirks()).map(quirkView) }),
  );

  app.post(
    '/bmc/scan',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Look for BMCs in the networks that the site file allows; nobody is logged in to',
        tags,
        body: ScanRequest,
        response: { 200: ScanAnswer },
      },
    },
    async (request) => ({ found: await bmc.scan(request.body.networks ?? null, originOf(request)) }),
  );
}
