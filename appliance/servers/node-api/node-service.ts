// Starts and stops enrollment and the node API, with their periodic work: expire task leases, detect silent nodes, renew
// certificates.

import { readFile } from 'node:fs/promises';
import type { FastifyBaseLogger } from 'fastify';
import { HOUR, SECOND } from '../../domain/instant.ts';
import { type Ipv4, parseIpv4 } from '../../domain/ipv4.ts';
import type { MachineId } from '../../domain/machine.ts';
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
import type { Trail } from '../../trail/trail.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import type { NodeContact } from './node-contacts.ts';
import { type CertificateValidity, startNodeApi } from './node-listener.ts';

export interface NodeServiceDeps extends Omit<EnrollmentServiceDeps, 'agentText' | 'logger'> {
  readonly logger: FastifyBaseLogger;
  readonly trail: Trail;
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
  /** What is known of connections from this address; null: there was none. */
  readonly contactAt: (address: string) => NodeContact | null;
  /** Which machine has an address by its lease. */
  useLeases(leasedTo: (address: Ipv4) => MachineId | null): void;
  /** Terminals are opened later, too. */
  useTerminals(terminals: NonNullable<ReturnType<NodeApiDeps['terminals']>>): void;
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
  let terminals: ReturnType<NodeApiDeps['terminals']> = null;
  const useTerminals: NodeService['useTerminals'] = (opened) => {
    terminals = opened;
  };
  // Leases are known later than the node API; until then the declared addresses are.
  let leasedTo: (address: Ipv4) => MachineId | null = () => null;
  const machineAt = (text: string): MachineId | null => {
    const address = parseIpv4(text);
    if (!address.ok) return null;
    return leasedTo(address.value) ?? fleet.machineByAddress(address.value)?.id ?? null;
  };
  const useLeases = (opened: typeof leasedTo): void => {
    leasedTo = opened;
  };
  if (deps.listen === null)
    return {
      enrollment,
      address: null,
      port: null,
      validity: () => null,
      contactAt: () => null,
      useLeases,
      useSessions,
      useTerminals,
      stop: () => stopAll(stops),
    };
  const listener = await startNodeApi(
    {
      store,
      fleet,
      enrollment,
      now,
      newId,
      logger,
      trail: deps.trail,
      machineAt,
      sessions: (...call) => sessions(...call),
      terminals: () => terminals,
    },
    deps.listen,
  );
  stops.push(repeat(RENEW_SERVER_EVERY, () => listener.renew(), logger));
  return {
    enrollment,
    address: listener.address,
    port: listener.port,
    validity: listener.validity,
    contactAt: (address) => listener.contacts.at(address),
    useLeases,
    useSessions,
    useTerminals,
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
