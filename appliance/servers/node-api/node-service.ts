// Starts and stops enrollment and the node API, with their periodic work: expire task leases, detect silent nodes, renew
// certificates.

import { readFile } from 'node:fs/promises';
import type { FastifyBaseLogger } from 'fastify';
import { HOUR, SECOND } from '../../domain/instant.ts';
import {
  type EnrollmentService,
  type EnrollmentServiceDeps,
  openEnrollmentService,
  RENEW_SERVER_EVERY,
  SWEEP_EVERY,
} from '../../identity/enrollment-service.ts';
import type { NodeApiAddress } from '../../identity/node-addresses.ts';
import { CHECK_EVERY } from '../../identity/twin-watch.ts';
import { repeat } from '../../net/repeat.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import { type CertificateValidity, startNodeApi } from './node-listener.ts';

export interface NodeServiceDeps extends Omit<EnrollmentServiceDeps, 'agentText' | 'logger'> {
  readonly logger: FastifyBaseLogger;
  /** Null: nodes can be prepared, but cannot enroll. */
  readonly listen: NodeApiAddress | null;
}

export interface NodeService {
  readonly enrollment: EnrollmentService;
  /** Null: off. */
  readonly address: string | null;
  /** The port that it listens on; null: off. */
  readonly port: number | null;
  /** Of the certificate in use; null: off. */
  readonly validity: () => CertificateValidity | null;
  /** Sessions are opened later than the node API; until then their requests are refused for the moment. */
  useSessions(sessions: NodeApiDeps['sessions']): void;
  stop(): Promise<void>;
}

const NODE_AGENT = new URL('../../../boot-assets/node-agent/node-agent', import.meta.url);
const WATCH_EVERY = 5 * SECOND;

export async function openNodeService(deps: NodeServiceDeps): Promise<NodeService> {
  const { store, fleet, logger, now, newId } = deps;
  const enrollment = await openEnrollmentService({ ...deps, agentText: await readFile(NODE_AGENT, 'utf8') });
  const { tasks, drains, heartbeats, twins, signer } = enrollment;
  const watch = async (): Promise<void> => {
    await heartbeats.flush();
    const silent = await heartbeats.markSilent();
    for (const { spec } of silent) logger.warn({ node: spec.hostname }, 'a node stopped sending heartbeats');
  };
  const stops = [
    async () => twins.stop(),
    repeat(SWEEP_EVERY, () => tasks.sweep(), logger),
    repeat(SWEEP_EVERY, () => drains.reconcile(), logger),
    repeat(WATCH_EVERY, watch, logger),
    repeat(CHECK_EVERY, () => twins.check(), logger),
    repeat(HOUR, async () => [await tasks.trim(), await signer.retireOld()], logger),
  ];
  let sessions: NodeApiDeps['sessions'] = async (_request, response) => {
    response.writeHead(503, { 'Retry-After': '1', Connection: 'close' }).end();
  };
  const useSessions = (opened: typeof sessions): void => {
    sessions = opened;
  };
  if (deps.listen === null)
    return { enrollment, address: null, port: null, validity: () => null, useSessions, stop: () => stopAll(stops) };
  const listener = await startNodeApi(
    { store, fleet, enrollment, now, newId, logger, sessions: (...call) => sessions(...call) },
    deps.listen,
  );
  stops.push(repeat(RENEW_SERVER_EVERY, () => listener.renew(), logger));
  return {
    enrollment,
    address: listener.address,
    port: listener.port,
    validity: listener.validity,
    useSessions,
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
