// The MAAS provider over a real store and the MAAS double, with a clock that only the test moves.

import { randomUUID } from 'node:crypto';
import { type Instant, SECOND } from '../../../appliance/domain/instant.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { Onboarding } from '../../../appliance/domain/onboarding.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { MaasApi } from '../../../appliance/providers/maas/maas-api.ts';
import { MaasClient } from '../../../appliance/providers/maas/maas-client.ts';
import { MaasProvider } from '../../../appliance/providers/maas/maas-provider.ts';
import { parseMaasKey } from '../../../appliance/providers/maas/oauth.ts';
import { type MaasSettings, parseApi } from '../../../appliance/providers/maas/settings.ts';
import { readTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { type Fixture, openApi, START } from '../../api/api-fixture.ts';
import { FakeClock } from '../../machines/fake-clock.ts';
import { type DoubleOptions, MaasDouble } from './double/maas-double.ts';
import type { DoubleMachine } from './double/machine.ts';

export const KEY = { consumer: 'CONS', token: 'TOK', secret: 'maas-secret-text' } as const;
export const BMC_PASSWORD = 'calvin-of-this-rack';

/** Real time that one answer may take. */
const TIMEOUT = 250;

export type Requests = Pick<MaasClient, 'get' | 'post' | 'put'>;

export interface MaasRig {
  readonly api: Fixture;
  readonly clock: FakeClock;
  readonly double: MaasDouble;
  readonly settings: MaasSettings;
  readonly client: MaasClient;
  /** A provider in a new process; `through` sees its requests. */
  readonly newProvider: (through?: (client: MaasClient) => Requests) => MaasProvider;
  readonly heartbeats: Map<string, Instant>;
  readonly nodeOf: (run: Onboarding) => Promise<Machine>;
  readonly machineOf: (run: Onboarding) => DoubleMachine;
  /** The installed system presents its certificate. */
  readonly enrolls: (run: Onboarding) => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function openMaasRig(options: Partial<DoubleOptions> = {}): Promise<MaasRig> {
  const api = await openApi({ deployable: true });
  const clock = new FakeClock(START);
  Object.defineProperty(api.clock, 'time', { get: () => clock.now() });
  const double = new MaasDouble({ now: () => clock.now(), key: KEY, ...options });
  const settings: MaasSettings = {
    api: mustParse(parseApi(await double.start())),
    ...{ timeout: TIMEOUT, ca: null },
    key: async () => parseMaasKey(`${KEY.consumer}:${KEY.token}:${KEY.secret}`, 'the key'),
  };
  const client = new MaasClient({ settings, now: () => clock.now(), nonce: randomUUID });
  const { store, fleet, work, commands } = api;
  const heartbeats = new Map<string, Instant>();
  const machineOf = ({ reference }: Onboarding): DoubleMachine => {
    const machine = double.machines.get(reference ?? '');
    if (machine === undefined) throw new Error('the run has no machine in MAAS');
    return machine;
  };
  const nodeOf = async ({ machine }: Onboarding): Promise<Machine> => {
    const node = machine && (await store.machine(machine));
    if (!node) throw new Error('the run has no node');
    return node;
  };
  return {
    ...{ api, clock, double, settings, client, heartbeats, machineOf, nodeOf },
    newProvider: (through = (one) => one) =>
      new MaasProvider({
        ...{ store, fleet, work, commands, newId: randomUUID, timeout: TIMEOUT },
        api: new MaasApi(through(client)),
        now: () => clock.now(),
        templates: readTemplates(),
        siteBootstrap: () => ({ name: 'baseline', version: '7', script: '#!/bin/sh\nexit 0\n' }),
        // The bundle itself is tested with its issuer; here only that the enrollment begins.
        startFirstBoot: async (machine, _minutes, origin) => {
          const { state } = (await store.machine(machine.id))?.lifecycle ?? { state: 'removed' };
          if (state !== 'enrolling') await commands.request(machine.id, 'enroll', origin);
          return [{ name: 'node-agent', version: 'b1', script: '#!/bin/sh\nexit 0\n', reports: true }];
        },
        bundleProblems: async () => [],
        bmcLogin: async () => ({ username: 'root', password: new Secret(BMC_PASSWORD) }),
        blockingProblems: () => [],
        lastHeartbeat: (machine) => heartbeats.get(machine) ?? null,
      }),
    enrolls: async (run) => {
      const node = await nodeOf(run);
      await api.enrollment.confirmEnrolled(node, null);
      heartbeats.set(node.id, clock.now() + SECOND);
    },
    close: async () => {
      client.close();
      await double.stop();
      await api.close();
    },
  };
}
