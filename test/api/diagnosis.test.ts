import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replayed } from '../../appliance/cli/replayed.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import type { Role } from '../../appliance/domain/token.ts';
import { newEvent } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { type Fixture, openApi, START } from './api-fixture.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

const get = async (path: string, role: Role = 'viewer') => (await api.call({ role, url: `/api/v1${path}` })).json();
const commission = (node: string) =>
  api.call({ role: 'operator', method: 'POST', url: `/api/v1/nodes/${node}/commission`, payload: {} });

/** Its second card, whose port is declared, heard this switch. */
async function heard(node: string, system: string, port: string): Promise<void> {
  const { id, interfaces } = await get(`/nodes/${node}`);
  const nics = [{ name: 'eth1', mac: interfaces[0].mac, link: true, neighbour: { chassis: null, system, port } }];
  const event = newEvent('session.facts', { machine: id, at: START, data: sampleData('session.facts') });
  await writesTo(api.store).putFacts(id, { at: START, facts: { disks: [], nics } }, event);
}

describe('the diagnosis of the site', () => {
  it('is empty while nothing is overdue, and groups the nodes that stopped for the same cause', async () => {
    expect(await get('/diagnosis')).toEqual({ looked_at: 0, in_time: 0, problems: [] });
    await commission('node01');
    await commission('node02');
    expect(await get('/diagnosis')).toEqual({ looked_at: 2, in_time: 2, problems: [] });
    api.clock.time += 20 * MINUTE;
    const { problems } = await get('/diagnosis');
    expect(problems).toMatchObject([{ id: 'no-discover', nodes: ['node01', 'node02'], confidence: 'possible' }]);
    expect(problems[0].summary).toMatch(/^2 machines.* wait for their first DHCP request/);
    expect(problems[0].summary).toContain('common to all: switch sw3, ');
    expect(problems[0].common).toContain('switch sw3');
  });

  it('names the switch that nodes heard by LLDP, whatever domain it announces', async () => {
    await heard('node01', 'leaf7.dc1.example', 'Ethernet1/1');
    await heard('node02', 'leaf7', 'Ethernet1/2');
    for (const node of ['node01', 'node02']) await commission(node);
    api.clock.time += 20 * MINUTE;
    const { problems } = await get('/diagnosis');
    expect(problems[0].common).toContain('switch leaf7');
    expect(problems[0].common).not.toContain('switch sw3');
  });
});

describe('the diagnosis of a node', () => {
  it.each([
    ['declared by both', 'node02', 'Ethernet1/2', []],
    [
      'heard by another node',
      'node02',
      'Eth1/1',
      ['switch port sw3 Ethernet1/1: declared for node01, heard by LLDP for node02'],
    ],
    [
      'of another node, heard by itself',
      'node01',
      'Ethernet1/3',
      ['switch port sw3 Ethernet1/3: heard by LLDP for node01, declared for node03'],
    ],
  ])('knows a switch port %s', async (_, who, port, words) => {
    await heard(who, 'sw3', port);
    await commission('node01');
    api.clock.time += 20 * MINUTE;
    const { diagnosis } = await get('/nodes/node01/diagnosis');
    expect(diagnosis.id).toBe(words.length === 0 ? 'no-discover' : 'switch-port-shared');
    if (words.length > 0) expect(diagnosis.evidence.map((one: { words: string }) => one.words)).toEqual(words);
  });
});

describe('the timeline of a node', () => {
  it('shows the stage that it waits in', async () => {
    expect(await get('/nodes/node01/timeline')).toMatchObject({ work: null, stages: [] });
    await commission('node01');
    api.clock.time += 30 * SECOND;
    expect(await get('/nodes/node01/timeline')).toMatchObject({
      work: 'commissioning',
      ended: null,
      stages: [{ stage: 'power', seconds: 30, expected: null, overdue: false, ended: null }],
    });
  });
});

describe('a recording', () => {
  const record = async () => JSON.stringify(await get('/nodes/node01/recording', 'operator'));

  it('replays the same decision and the same diagnosis without an appliance', async () => {
    await commission('node01');
    api.clock.time += 20 * MINUTE;
    const { diagnosis, symptom } = await get('/nodes/node01/diagnosis');
    const { answer, decision } = replayed('r.json', await record());
    expect(answer).toMatchObject({ node: 'node01', state: 'commissioning', diagnosis, symptom });
    expect(decision).toMatchObject({ outcome: 'service-os', changed: false });
  });

  it('contains no order, no account, no login and no output of a task', async () => {
    const { id } = await get('/nodes/node01');
    const data = { task: 't', kind: 'run-diagnostics', parameters: { word: 'SECRET-1' } };
    const done = { task: 't', output: 'SECRET-2' };
    await api.store.appendEvents([
      newEvent('task.created', { machine: id, data, at: START }),
      newEvent('task.succeeded', { machine: id, data: done, at: START }),
    ]);
    const text = await record();
    expect(text).not.toMatch(/SECRET|password|ssh-ed25519|"salt": "/);
    expect(JSON.parse(text).decision.machine.spec).toMatchObject({ accounts: [], access: null });
    expect(JSON.parse(text).situation.events.map(({ kind }: { kind: string }) => kind)).toContain('task.succeeded');
  });

  it.each([
    ['not JSON', '{', /r\.json is not JSON/],
    ['another document', '{"nodes": []}', /r\.json is no recording/],
    ['another format', '{"format": 9, "situation": {}, "decision": {}}', /r\.json has format 9/],
    ['an incomplete one', '{"format": 1, "situation": {}, "decision": {}}', /r\.json: the recording is incomplete/],
  ])('that is %s is rejected with the reason', (_, text, message) => {
    expect(() => replayed('r.json', text)).toThrow(ColdironError);
    expect(() => replayed('r.json', text)).toThrow(message);
  });
});
