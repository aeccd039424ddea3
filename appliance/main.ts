// The composition root. Opens the subsystems in order and stops them in reverse; `assembly/` has one file for each.

import type { Logger } from 'pino';
import { openApi } from './assembly/api.ts';
import { openBmc } from './assembly/bmc.ts';
import { openBootLookup } from './assembly/boot-lookup.ts';
import { bootServers, type Place } from './assembly/boot-servers.ts';
import { openFoundation, StopList } from './assembly/foundation.ts';
import { openIdentity } from './assembly/identity.ts';
import { openMachines } from './assembly/machines.ts';
import { openMedia } from './assembly/media.ts';
import { nodeWork, openWork } from './assembly/provisioning.ts';
import { openSelfCheck } from './assembly/self-check.ts';
import { openServiceOsAuthority } from './assembly/service-os-authority.ts';
import { openSessionProofs } from './assembly/session-proofs.ts';
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
    const { applianceProblems, useListeners } = await openSelfCheck(foundation, { boot, nodes });
    const { twins } = enrollment;
    const servers = bootServers(foundation, boot, work.sessions, { twins, authority, applianceProblems, media });
    const api = await openApi(foundation, {
      ...{ enrollment, commands },
      work: nodeWork(foundation, { commands, boot, servers, work, enrollment, bmcs, applianceProblems }),
      renderings: work.renderings,
      services: servers.services,
      listeners: servers.listeners,
      applianceProblems,
      bootContract: servers.bootContract,
      bootPort: boot.bootPort,
      resolver: boot.resolver,
      bmc: bmcs,
    });
    const node = nodes.address === null ? [] : [{ what: 'node', where: `https://${nodes.address}/node/v1` }];
    const bootPlaces = await servers.start();
    useListeners(servers.listeners);
    return { places: [...bootPlaces, ...api, ...node], adminTokenFile: foundation.adminTokenFile, stop: stops.run };
  } catch (error) {
    await stops.run();
    throw error;
  }
}
