// Enrollment and the node API as the appliance starts and stops them, with what goes on while nobody asks: leases end, nodes
// fall silent, certificates are renewed.

import { readFile } from 'node:fs/promises';
import type { FastifyBaseLogger } from 'fastify';
import { ColdironError } from '../../domain/errors.ts';
import { HOUR, SECOND } from '../../domain/instant.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import {
  type EnrollmentService,
  type EnrollmentServiceDeps,
  type MoveOn,
  openEnrollmentService,
  RENEW_SERVER_EVERY,
  SWEEP_EVERY,
} from '../../identity/enrollment-service.ts';
import type { NodeApiPlace } from '../../identity/node-place.ts';
import { repeat } from '../../net/repeat.ts';
import { startNodeApi } from './node-listener.ts';

export interface NodeServiceDeps extends Omit<EnrollmentServiceDeps, 'agentText' | 'moveOn'> {
  readonly runner: {
    request(machine: MachineId, ...news: Rest<Parameters<MoveOn>>): Promise<Machine>;
  };
  readonly refreshFleet: () => Promise<void>;
  readonly logger: FastifyBaseLogger;
  /** Null: nodes can be prepared, and nobody can enroll. */
  readonly listen: NodeApiPlace | null;
}

export interface NodeService {
  readonly enrollment: EnrollmentService;
  /** Null: off. */
  readonly address: string | null;
  stop(): Promise<void>;
}

type Rest<List extends readonly unknown[]> = List extends [unknown, ...infer Others] ? Others : never;

const NODE_AGENT = new URL('../../../boot-assets/node-agent/node-agent', import.meta.url);
const WATCH_EVERY = 5 * SECOND;

export async function openNodeService(deps: NodeServiceDeps): Promise<NodeService> {
  const { store, fleet, refreshFleet, runner, logger, now, newId } = deps;
  const enrollment = await openEnrollmentService({
    ...deps,
    agentText: await readFile(NODE_AGENT, 'utf8'),
    moveOn: async ({ id }, event, by) => {
      await runner.request(id, event, by).catch((error: unknown) => {
        // Somebody else moved it meanwhile; for a node's own news that is no failure of the node.
        if (event !== 'enroll' && error instanceof ColdironError && error.code === 'conflict') return;
        throw error;
      });
      await refreshFleet();
    },
  });
  const { tasks, drains, heartbeats, signer } = enrollment;
  const watch = async (): Promise<void> => {
    await heartbeats.flush();
    const silent = await heartbeats.watch();
    for (const { spec } of silent) logger.warn({ node: spec.hostname }, 'a node has fallen silent');
    if (silent.length > 0) await refreshFleet();
  };
  const stops = [
    repeat(SWEEP_EVERY, () => tasks.sweep(), logger),
    repeat(SWEEP_EVERY, () => drains.look(), logger),
    repeat(WATCH_EVERY, watch, logger),
    repeat(HOUR, async () => [await tasks.trim(), await signer.retireOld()], logger),
  ];
  if (deps.listen === null) return { enrollment, address: null, stop: () => stopAll(stops) };
  const listener = await startNodeApi({ store, fleet, enrollment, now, newId, logger }, deps.listen);
  stops.push(repeat(RENEW_SERVER_EVERY, () => listener.renew(), logger));
  return {
    enrollment,
    address: listener.address,
    stop: async () => {
      await stopAll(stops);
      await listener.stop();
      await heartbeats.flush();
    },
  };
}

async function stopAll(stops: readonly (() => Promise<void>)[]): Promise<void> {
  for (const stop of stops) await stop();
}
