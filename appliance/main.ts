// The composition root. Opens the subsystems in order and stops them in reverse; `assembly/` has one file for each.

import type { Logger } from 'pino';
import { openAllocations } from './assembly/allocations.ts';
import { openApi } from './assembly/api.ts';
import { openBmc } from './assembly/bmc.ts';
import { openBootLookup } from './assembly/boot-lookup.ts';
import { bootServers, type Place } from './assembly/boot-servers.ts';
import { openExports } from './assembly/exports.ts';
import { openFoundation, StopList } from './assembly/foundation.ts';
import { openIdentity } from './assembly/identity.ts';
import { openMachines } from './assembly/machines.ts';
import { openMedia } from './assembly/media.ts';
import { openMetrics } from './assembly/metrics.ts';
import { openOnboarding } from './assembly/onboarding.ts';
import { nodeWork, openRunTimes, openWork } from './assembly/provisioning.ts';
import { openSelfCheck } from './assembly/self-check.ts';
import { openServiceOsAuthority } from './assembly/service-os-authority.ts';
import { openSessionProofs } from './assembly/session-proofs.ts';
import { openTerminals } from './assembly/terminals.ts';
import type { Config } from './config.ts';

export interface Appliance {
  /** Which service listens where. */
  readonly places: readonly Place[];
  /** The first API token; null: it has expired. */
  readonly adminTokenFile: string | null;
  stop(): Promise<void>;
}

export async function startAppliance(config: Config, logger: Logger): Promise<Appliance> {
  const stops = new StopList();
  try {
    const foundation = await openFoundation(config, logger, stops);
    const bmcs = await openBmc(foundation);
    const proofs = await openSessionProofs(foundation);
    const media = await openMedia(foundation, bmcs, proofs);
    const commands = await openMachines(foundation, bmcs, media);
    const nodes = await openIdentity(foundation, commands, bmcs);
    const { enrollment } = nodes;
    const authority = await openServiceOsAuthority(foundation, nodes);
    const boot = await openBootLookup(foundation, commands);
    nodes.useLeases((address) => boot.addresses.whoIs(address).machine);
    const work = await openWork(foundation, commands, boot, nodes, proofs);
    const exports = openExports(foundation);
    const { applianceProblems, useListeners } = await openSelfCheck(foundation, { boot, nodes, exports });
    const { twins } = enrollment;
    const servers = bootServers(foundation, boot, work.sessions, { twins, authority, applianceProblems, media });
    const runTimes = openRunTimes(foundation);
    const tasks = nodeWork(foundation, { commands, boot, servers, work, enrollment, bmcs, applianceProblems });
    const { bootPort, discovery } = boot;
    const onboarding = openOnboarding(foundation, {
      ...{ work: tasks, commands, bmcs, enrollment, runTimes, servers, bootPort, applianceProblems, discovery },
      contactAt: nodes.contactAt,
    });
    const terminals = await openTerminals(foundation, enrollment);
    nodes.useTerminals(terminals);
    const api = await openApi(
      foundation,
      {
        ...{ enrollment, commands, exports, runTimes, contactAt: nodes.contactAt },
        ...openAllocations(foundation, commands, enrollment),
        ...{ work: tasks, onboardings: onboarding.onboardings, maas: onboarding.maas, terminals },
        renderings: work.renderings,
        services: servers.services,
        listeners: servers.listeners,
        applianceProblems,
        bootContract: servers.bootContract,
        bootPort,
        resolver: boot.resolver,
        bmc: bmcs,
      },
      openMetrics(foundation, { boot, nodes, exports, applianceProblems, services: servers.services }),
    );
    const node = nodes.address === null ? [] : [{ what: 'node', where: `https://${nodes.address}/node/v1` }];
    const bootPlaces = await servers.start();
    useListeners(servers.listeners);
    await onboarding.start();
    return { places: [...bootPlaces, ...api, ...node], adminTokenFile: foundation.adminTokenFile, stop: stops.run };
  } catch (error) {
    await stops.run();
    throw error;
  }
}
