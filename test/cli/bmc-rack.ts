// A management API on a socket, with a rack of three nodes whose BMCs are in memory.

import { join } from 'node:path';
import { expect } from 'vitest';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import type { ManagementDeps } from '../../appliance/api/deps.ts';
import type { LogEntry } from '../../appliance/bmc/bmc.ts';
import { BmcError } from '../../appliance/bmc/bmc-error.ts';
import { parsed } from '../../appliance/domain/parsed.ts';
import { createBundleIssuer } from '../../appliance/identity/bundle-issuer.ts';
import { agentLayout } from '../../appliance/render/bundle/bundle.ts';
import { readTemplates } from '../../appliance/servers/http-boot/read-templates.ts';
import { type Fixture, openApi } from '../api/api-fixture.ts';
import { FakeMachine, fakeBmc } from '../bmc/fake-bmc.ts';
import { commandsOf } from '../machines/commands-of.ts';
import { runColdiron } from './run-coldiron.ts';

export const NAMES = ['metal01', 'metal02', 'metal03'] as const;

const RACK = {
  sites: [{ name: 'metal', bmc_mode: 'real' }],
  networks: [
    { name: 'metal-boot', site: 'metal', prefix: '10.9.100.0/24', server: '10.9.100.10', dns: ['10.9.100.1'] },
  ],
  nodes: NAMES.map((name, at) => ({
    name,
    site: 'metal',
    sku: 'gp1',
    profile: 'worker',
    labels: { rack: 'm1' },
    interfaces: [{ name: 'eth0', mac: `52:54:00:99:00:0${at}`, network: 'metal-boot', address: `10.9.100.5${at}` }],
    bmc: { address: `10.9.10.${at + 1}`, driver: 'redfish', username: 'ADMIN' },
  })),
};

export class RackMachine extends FakeMachine {
  log: LogEntry[] = [{ id: '1', at: null, severity: 'warning', message: 'Fan 1 is slow' }];
  password = '';
}

export interface BmcRack {
  readonly api: Fixture;
  readonly machines: Readonly<Record<string, RackMachine>>;
  coldiron(...args: string[]): ReturnType<typeof runColdiron>;
  /** With this text as standard input. */
  given(input: string, ...args: string[]): ReturnType<typeof runColdiron>;
}

/** Real bundles; only the node API is not asked whether it is reachable. */
function withoutProbe({ enrollment, store, clock }: ManagementDeps): ManagementDeps['enrollment'] {
  const bundles = createBundleIssuer({
    store,
    commands: commandsOf(store, clock.now, null),
    authority: enrollment.authority,
    taskSigner: enrollment.signer,
    templates: readTemplates(),
    probe: async () => parsed(null),
    now: clock.now,
    settings: enrollment.settings,
    bundle: {
      apiUrlOf: () => parsed('https://10.9.100.10:8444'),
      plainHttp: 'never',
      layout: agentLayout('coldiron'),
      agentText: '#!/bin/sh\n',
      package: null,
    },
  });
  return {
    ...enrollment,
    issueBundle: (machine, reissue, origin) => bundles.issue({ machine, delivery: 'manual', reissue, origin }),
  };
}

export async function openBmcRack(): Promise<BmcRack> {
  const machines = Object.fromEntries(NAMES.map((name) => [name, new RackMachine()]));
  const api = await openApi({
    deps: (real) => ({ authenticate: localAuthenticator('test'), enrollment: withoutProbe(real) }),
    openDriver: ({ spec }, _address, { password }) => {
      const machine = machines[spec.hostname] ?? expect.fail(`no machine ${spec.hostname}`);
      const verb = async <T>(name: string, work: () => T): Promise<T> => {
        machine.verbs.push(name);
        const failure = machine.fails.get(name);
        if (failure) throw new BmcError(failure, `no answer from the BMC`);
        return work();
      };
      machine.password = Buffer.from(password.reveal()).toString();
      return {
        ...fakeBmc(machine),
        sensors: () =>
          verb('sensors', () => [
            { name: 'Inlet', kind: 'temperature', value: 23.5, unit: 'degrees C', health: 'ok', states: [] },
          ]),
        eventLog: () => verb('eventLog', () => machine.log),
        clearEventLog: () =>
          verb('clearEventLog', () => {
            machine.log = [];
          }),
      };
    },
  });
  const payload = { sources: [{ name: 'metal', document: RACK }] };
  const applied = await api.call({ method: 'POST', url: '/api/v1/inventory/apply', payload });
  expect(applied.statusCode, applied.body).toBe(200);
  for (const name of NAMES) {
    const login = { username: 'ADMIN', password: 'factory-password' };
    const set = await api.call({ method: 'PUT', url: `/api/v1/nodes/${name}/bmc/credentials`, payload: login });
    expect(set.statusCode, set.body).toBe(200);
  }
  await api.app.listen({ path: join(api.stateDir, 'coldiron.sock') });
  return {
    api,
    machines,
    coldiron: (...args) => runColdiron(api.stateDir, args),
    given: (input, ...args) => runColdiron(api.stateDir, args, input),
  };
}
