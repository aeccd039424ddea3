// The certificate authority, enrollment and tasks, and the node API over mutual TLS.

import type { BmcService } from '../bmc/access/bmc-service.ts';
import { DEFAULT_ENROLLMENT_SETTINGS } from '../identity/settings.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { readTemplates } from '../servers/http-boot/read-templates.ts';
import { openNodeService } from '../servers/node-api/node-service.ts';
import type { Foundation } from './foundation.ts';

export type NodeService = Awaited<ReturnType<typeof openNodeService>>;

export async function openIdentity(
  foundation: Foundation,
  commands: MachineCommands,
  { power }: Pick<BmcService, 'power'>,
): Promise<NodeService> {
  const { config, store, fleet, trail, clock, newId, logger, stops } = foundation;
  const service = await openNodeService({
    ...{ store, fleet, trail, commands, power, newId, logger },
    now: clock.now,
    setTimer: clock.setTimer,
    state: config.state,
    credentialsFolder: process.env.CREDENTIALS_DIRECTORY,
    settings: { ...DEFAULT_ENROLLMENT_SETTINGS, ...config.enrollment },
    templates: readTemplates(),
    listen: config.listen.node,
  });
  stops.add(() => service.stop());
  return service;
}
