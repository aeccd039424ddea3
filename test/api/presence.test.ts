// What the API, `nodes show` and the diagnosis say about an enrolled node: its last contact, its clock and its system.

import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localAuthenticator } from '../../appliance/api/auth.ts';
import type { ManagementDeps } from '../../appliance/api/deps.ts';
import { readNodeSystem } from '../../appliance/domain/events/node-system.ts';
import { instantText, MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { runColdiron } from '../cli/run-coldiron.ts';
import { type Fixture, openApi, START } from './api-fixture.ts';

let api: Fixture;
let real: ManagementDeps;
let connectedAt: number;
const ADA = { actor: 'local:ada', correlationId: null };

beforeEach(async () => {
  connectedAt = START;
  api = await openApi({
    deps: (deps) => {
      real = deps;
      return {
        authenticate: localAuthenticator('test'),
        contactAt: (address) => (address === '10.0.100.51' ? { connectedAt } : null),
      };
    },
  });
  await api.app.listen({ path: join(api.stateDir, 'coldiron.sock') });
});
afterEach(() => api.close());

const node = () => {
  const machine = [...real.fleet.machines()].find(({ spec }) => spec.hostname === 'node01');
  if (machine === undefined) throw new Error('node01 is declared');
  return machine;
};
const get = async (path: string) => (await api.call({ url: `/api/v1${path}` })).json();

/** node01 as it is after its first heartbeat. */
async function activate(report: Parameters<typeof real.enrollment.heartbeats.record>[1]): Promise<void> {
  const { enrollment } = real;
  await real.commands.request(node().id, 'enroll', ADA);
  await enrollment.confirmEnrolled(node(), null);
  await enrollment.heartbeats.record(node(), report, 'c-1');
}

describe('the presence of a node', () => {
  it('is empty for a node that was never heard of', async () => {
    expect(await get('/nodes/node02/presence')).toEqual({
      ...{
        agent: null,
        node: 'node02',
        last_seen: null,
        contact_at: null,
        clock_offset: null,
        system: null,
        leases: [],
      },
    });
  });

  it('has its clock and its system, and so have nodes show and the diagnosis', async () => {
    await activate({ agent: '4', boot_id: 'b', clock_offset_ms: -95_400 });
    real.enrollment.heartbeats.keepSystem(
      node(),
      readNodeSystem(
        'unit data.mount exit-code\nline no such device\n',
        '{"status":"error","errors":["scripts-vendor"]}',
      ),
    );
    expect(await get('/nodes/node01/presence')).toMatchObject({
      contact_at: instantText(START),
      clock_offset: -95,
      system: { units: [{ unit: 'data.mount' }], cloud_init: { status: 'error' } },
    });
    const { stdout } = await runColdiron(api.stateDir, ['nodes', 'show', 'node01']);
    expect(stdout).toMatch(/^clock +95 s behind$/m);
    expect(stdout).toMatch(/^contact +last connected to the node API at 20/m);
    expect(stdout).toMatch(
      /^system +FAILED data\.mount \(exit-code\)\nsystem +no such device\nsystem +cloud-init: error\n/m,
    );

    const { diagnosis, alternatives } = await get('/nodes/node01/diagnosis');
    expect(diagnosis).toMatchObject({ id: 'unit-failed', reason: expect.stringContaining('no such device') });
    expect(alternatives.map(({ id }: { id: string }) => id)).toEqual(['node-clock-off', 'cloud-init-errors']);
    expect(await get('/diagnosis')).toMatchObject({
      looked_at: 1,
      problems: [{ id: 'unit-failed', nodes: ['node01'] }],
    });
  });

  it('takes the last of heartbeats and connections from its address as the contact', async () => {
    await activate({ agent: '4', clock_offset_ms: 400 });
    api.clock.time += 5 * MINUTE;
    connectedAt = START + 4 * MINUTE;
    expect(await get('/nodes/node01/presence')).toMatchObject({
      contact_at: instantText(START + 4 * MINUTE),
      last_seen: instantText(START + 4 * MINUTE),
      clock_offset: 0,
    });
    await real.enrollment.heartbeats.record(node(), { agent: '4' }, 'c-2');
    expect(await get('/nodes/node01/presence')).toMatchObject({
      contact_at: instantText(START + 5 * MINUTE),
      clock_offset: null,
    });
    api.clock.time += SECOND;
    expect(await get('/diagnosis')).toMatchObject({ looked_at: 0 });
    expect((await runColdiron(api.stateDir, ['nodes', 'show', 'node01'])).stdout).not.toMatch(/^(clock|system) /m);
  });
});
