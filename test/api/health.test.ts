import { pino } from 'pino';
import { afterEach, describe, expect, it } from 'vitest';
import type { App } from '../../appliance/api/base-app.ts';
import { buildBootApp } from '../../appliance/api/boot-app.ts';
import type { Services } from '../../appliance/api/deps.ts';
import type { ApplianceProblem } from '../../appliance/domain/appliance-problem.ts';
import { openApi } from './api-fixture.ts';

type Problems = readonly ApplianceProblem[];
const ALL_RUN: Services = { dhcp: 'running', tftp: 'running', http: 'running' };
const FULL: ApplianceProblem = {
  ...{ id: 'disk-full', subject: '/var/lib/coldiron', since: 0, words: 'full', nextStep: 'df', freeBytes: 0 },
};

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0)) await close();
});

async function bootApp(services: Services, problems: Problems = []): Promise<App> {
  const app = await buildBootApp({
    services: () => services,
    applianceProblems: () => problems,
    newId: () => 'id',
    logger: pino({ level: 'silent' }),
  });
  open.push(() => app.close());
  return app;
}

async function managementApp(services: Services, problems: Problems = []): Promise<App> {
  const api = await openApi({ deps: () => ({ services: () => services, applianceProblems: () => problems }) });
  open.push(() => api.close());
  return api.app;
}

describe.each([
  ['the provisioning side', bootApp],
  ['the management side', managementApp],
])('health on %s', (_side, build) => {
  it('has the text that the runbooks expect', async () => {
    const answer = await (await build({ dhcp: 'running', tftp: 'running', http: 'running' })).inject('/health');
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toBe('{"status":"healthy","services":{"dhcp":"running","tftp":"running","http":"running"}}');
  });

  it('is healthy while undeclared services are off', async () => {
    const answer = await (await build({ dhcp: 'off', tftp: 'off', http: 'running' })).inject('/health');
    expect([answer.statusCode, answer.json().status]).toEqual([200, 'healthy']);
  });

  it('is starting, and not degraded, while a service starts', async () => {
    const answer = await (await build({ dhcp: 'starting', tftp: 'off', http: 'running' })).inject('/health');
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { status: 'starting', services: { dhcp: 'starting', tftp: 'off', http: 'running' } },
    ]);
  });

  it('is degraded when a service has failed, also while another one starts', async () => {
    const other = await (await build({ dhcp: 'starting', tftp: 'failed', http: 'running' })).inject('/health');
    expect(other.json().status).toBe('degraded');
    const answer = await (await build({ dhcp: 'failed', tftp: 'off', http: 'running' })).inject('/health');
    expect([answer.statusCode, answer.json()]).toEqual([
      503,
      { status: 'degraded', services: { dhcp: 'failed', tftp: 'off', http: 'running' } },
    ]);
  });
});

describe('health with a problem of the appliance', () => {
  it('is degraded on the management side, with the kind of the problem and no details', async () => {
    const answer = await (await managementApp(ALL_RUN, [FULL])).inject('/health');
    expect([answer.statusCode, answer.body]).toEqual([
      503,
      '{"status":"degraded","services":{"dhcp":"running","tftp":"running","http":"running"},"problems":["disk-full"]}',
    ]);
  });

  it('is degraded on the provisioning side without the kind, and machines still find the appliance', async () => {
    const answer = await (await bootApp(ALL_RUN, [FULL])).inject('/health');
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'degraded', services: ALL_RUN }]);
    expect((await (await bootApp({ ...ALL_RUN, tftp: 'failed' }, [FULL])).inject('/health')).statusCode).toBe(503);
  });

  it('stays healthy with a warning', async () => {
    const answer = await (await managementApp(ALL_RUN, [{ ...FULL, id: 'disk-low' }])).inject('/health');
    expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'healthy', services: ALL_RUN }]);
  });
});

describe('the problems of the appliance', () => {
  it('are listed for people who may read, with a sentence and a command', async () => {
    const problem = {
      id: 'disk-low' as const,
      subject: '/var/lib/coldiron',
      since: 0,
      words: 'little space \u001b[31mis left',
      nextStep: 'df -h /var/lib/coldiron',
      freeBytes: 1,
    };
    const api = await openApi({ deps: () => ({ applianceProblems: () => [problem] }) });
    expect((await api.call({ role: 'viewer', url: '/api/v1/appliance/problems' })).json()).toEqual({
      problems: [
        {
          id: 'disk-low',
          severity: 'warning',
          subject: '/var/lib/coldiron',
          since: '1970-01-01T00:00:00.000Z',
          words: 'little space \\u001b[31mis left',
          next_step: 'df -h /var/lib/coldiron',
        },
      ],
    });
  });
});

describe('the list of listeners', () => {
  it('shows the networks served, and the problem of each listener that does not answer', async () => {
    const listeners = [
      { service: 'dhcp', where: 'eth1', networks: ['provisioning'], problem: 'this machine has no such interface' },
      { service: 'tftp', where: '10.0.100.10:69', networks: [], problem: null },
    ] as const;
    const api = await openApi({ deps: () => ({ listeners: () => listeners }) });
    open.push(() => api.close());
    expect((await api.call({ role: 'viewer', url: '/api/v1/listeners' })).json()).toEqual({ listeners });
  });
});

describe('the provisioning listener', () => {
  it('has only public routes, and none of the API', async () => {
    const app = await bootApp({ dhcp: 'off', tftp: 'off', http: 'running' });
    expect(app.routeTable.filter(({ access }) => access !== 'public')).toEqual([]);
    expect((await app.inject('/api/v1/nodes')).json()).toEqual({
      code: 'unauthenticated',
      message: 'this port does not accept tokens; use the management port',
      correlation_id: 'id',
    });
  });
});
