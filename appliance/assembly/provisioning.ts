// Work on machines: deliveries, orders and sessions of the service OS, and the checks before a deployment.

import { join } from 'node:path';
import { isUsable } from '../assets/asset.ts';
import { readNodeModules } from '../assets/template-files.ts';
import type { BmcService } from '../bmc/access/bmc-service.ts';
import { Renderings } from '../deliveries/renderings.ts';
import { openTemplateSet } from '../deliveries/template-set.ts';
import type { Origin } from '../domain/event.ts';
import { MINUTE, SECOND } from '../domain/instant.ts';
import type { Machine } from '../domain/machine.ts';
import type { EnrollmentService } from '../identity/enrollment-service.ts';
import { identityIn } from '../identity/node-addresses.ts';
import type { MachineCommands } from '../machines/execute.ts';
import { repeat } from '../net/repeat.ts';
import { cablingOf } from '../provisioning/cabling.ts';
import { PUSH_LIMITS } from '../provisioning/installers/nixos/push.ts';
import { NodeWork } from '../provisioning/node-work.ts';
import { openSessionService, type SessionService } from '../provisioning/sessions/session-service.ts';
import { skuProblemsOf } from '../provisioning/sku-hardware.ts';
import { indexInventory } from '../render/plan-index.ts';
import type { RenderedFile } from '../render/rendered-file.ts';
import { fetchable } from '../servers/http-boot/fetchable.ts';
import { sessionEndpoint } from '../servers/http-boot/session-endpoint.ts';
import { seenAt } from '../servers/seen-at.ts';
import { RunTimes } from '../trail/run-times.ts';
import type { BootLookup } from './boot-lookup.ts';
import type { BootServers } from './boot-servers.ts';
import type { Foundation } from './foundation.ts';
import type { NodeService } from './identity.ts';
import type { SelfCheck } from './self-check.ts';
import type { SessionProofs } from './session-proofs.ts';

const DEFAULT_MANAGEMENT_PORT = 8443;
const RELOAD_TEMPLATES_EVERY = MINUTE;
const LOOK_FOR_STALLS_EVERY = 15 * SECOND;

export interface Work {
  readonly renderings: Renderings;
  readonly sessions: SessionService;
}

export async function openWork(
  foundation: Foundation,
  commands: MachineCommands,
  boot: BootLookup,
  nodes: NodeService,
  proofs: SessionProofs,
): Promise<Work> {
  const { enrollment } = nodes;
  const { config, store, fleet, clock, newId, logger, stops } = foundation;
  const { library, addresses, bootPort } = boot;
  const templates = await openTemplateSet({
    folder: config.templates,
    state: config.state,
    index: () => indexInventory(fleet.inventory()),
    log: logger,
  });
  stops.add(repeat(RELOAD_TEMPLATES_EVERY, () => templates.reload(), logger));
  const serviceFiles = (machine: Machine, by: Origin): Promise<readonly RenderedFile[]> =>
    enrollment.authority.serviceFiles(identityIn(fleet, machine), by);
  const renderings = new Renderings({
    ...{ fleet, store, templates, serviceFiles },
    modules: readNodeModules(),
    ports: {
      boot: bootPort,
      management: config.listen.management.port || DEFAULT_MANAGEMENT_PORT,
      node: config.listen.node?.port ?? null,
    },
    now: clock.now,
  });
  const sessions = await openSessionService({
    ...{ store, fleet, commands, templates, serviceFiles, newId },
    find: (name) => library.find(name),
    modules: readNodeModules,
    inspection: (machine) => renderings.inspection(machine),
    installedFiles: (machine) => enrollment.installedFiles(machine),
    nodeParts: (machine) => enrollment.firstBootParts(machine),
    nodeApiUrl: (machine) => enrollment.apiUrl(machine),
    given: (machine, plan, files) =>
      renderings.recordDelivery(machine, plan, files, 'order', {
        actor: `machine:${machine.spec.hostname}`,
        correlationId: null,
      }),
    seenAt: (address) => seenAt(address, addresses, fleet),
    ...proofs,
    nodePort: () => nodes.port,
    heard: (machine) => enrollment.twins.heardSession(machine),
    now: clock.now,
    log: logger,
    workFolders: join(config.state, 'pushes'),
    environment: process.env,
    limits: PUSH_LIMITS,
  });
  stops.add(() => sessions.stop());
  stops.add(repeat(LOOK_FOR_STALLS_EVERY, () => sessions.noteStalled([...fleet.machines()]), logger));
  boot.useOrders(sessions.orders);
  nodes.useSessions(sessionEndpoint(sessions.sessions.handler, logger));
  return { renderings, sessions };
}

/** How long the stages of completed runs took. */
export function openRunTimes({ store, clock, logger, stops }: Foundation): RunTimes {
  const runTimes = new RunTimes({ store, now: clock.now, log: logger });
  stops.add(runTimes.start());
  return runTimes;
}

/** The commands that operators run on nodes. Its checks query the open servers, so it comes after them. */
export function nodeWork(
  { config, fleet, store, clock }: Foundation,
  deps: {
    readonly commands: MachineCommands;
    readonly boot: BootLookup;
    readonly servers: BootServers;
    readonly work: Work;
    readonly enrollment: EnrollmentService;
    readonly bmcs: BmcService;
    readonly applianceProblems: SelfCheck['applianceProblems'];
  },
): NodeWork {
  const { commands, boot, servers, work, enrollment, bmcs, applianceProblems } = deps;
  return new NodeWork({
    ...{ fleet, commands },
    orders: work.sessions.orders,
    now: clock.now,
    find: (name) => boot.library.find(name),
    images: boot.images,
    readFiles: servers.reload,
    loaderAvailable: (file) => isUsable(boot.library.find(file)),
    applianceProblems,
    bootContract: servers.bootContract,
    bootPort: servers.bootPort,
    fetchable: (url) => fetchable(url, servers.chain.headersFor(url)),
    bundleProblems: (machine) => enrollment.bundleProblems(machine),
    bmcProblems: bmcs.problems,
    driveProblem: (machine) => bmcs.drives.problem(machine),
    inspection: (machine) => work.renderings.inspection(machine),
    cabling: (machine) => cablingOf({ fleet, store }, machine),
    skuProblems: (machine) => skuProblemsOf({ fleet, store }, machine),
    hasNodeApi: () => config.listen.node !== null,
    pushProblems: work.sessions.pushProblems,
  });
}
