// Attacks on the ownership of nodes: an operator tries to change what a file declares, or to keep a file from being applied.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Fixture, openApi, RACK } from '../api/api-fixture.ts';
import { lifecycleIn, transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';

let api: Fixture;
beforeEach(async () => {
  api = await openApi();
});
afterEach(() => api.close());

type Node = Record<string, unknown>;

const NEW_MAC = '52:54:00:99:00:01';
const NEW_UUID = '00000000-0000-4000-8000-000000000099';
const FOURTH = {
  name: 'node04',
  sku: 'gp1',
  profile: 'worker',
  uuid: NEW_UUID,
  interfaces: [{ name: 'eth0', mac: NEW_MAC, network: 'provisioning', address: '10.0.100.54' }],
  bmc: { address: '10.0.150.54' },
};

const importAs = (role: 'operator' | 'admin', nodes: readonly Node[]) =>
  api.call({ role, method: 'POST', url: '/api/v1/nodes/import', payload: { nodes } });

/** The file `rack` with a fourth node, as `coldiron apply` sends it. */
const applyFile = (fourth: Node = FOURTH) =>
  api.call({
    role: 'admin',
    method: 'POST',
    url: '/api/v1/inventory/apply',
    payload: { sources: [{ name: 'rack', document: { ...RACK, nodes: [...RACK.nodes, fourth] } }] },
  });

const nodeNamed = async (name: string) => (await api.call({ role: 'viewer', url: `/api/v1/nodes/${name}` })).json();

const inState = async (name: string, state: 'active' | 'ready' | 'commissioning'): Promise<void> => {
  const machine = [...api.fleet.machines()].find(({ spec }) => spec.hostname === name);
  if (!machine) throw new Error(`there is no ${name}`);
  await writesTo(api.store).transition(transitionOf(machine, state, { lifecycle: lifecycleIn(state) }));
};

describe('an operator who tries to change a node that a file declares', () => {
  const ROOT = {
    name: 'mallory',
    ssh_keys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c'],
    admin: true,
  };

  it('cannot add an account to it by import, and learns which file declares it', async () => {
    const before = await nodeNamed('node01');
    const stolen = RACK.nodes.slice(0, 2).map((node) => ({ ...node, accounts: [ROOT] }));
    const answer = await importAs('operator', stolen);
    expect(answer.statusCode).toBe(409);
    expect(answer.json()).toMatchObject({
      code: 'conflict',
      details: [
        expect.stringMatching(/^node node01: is declared by the inventory file rack: change it there/),
        expect.stringMatching(/^node node02: is declared by the inventory file rack: change it there/),
      ],
    });
    expect(await nodeNamed('node01')).toEqual(before);
  });

  it.each(['registered', 'ready', 'active'] as const)('cannot take it over while it is %s', async (state) => {
    if (state !== 'registered') await inState('node01', state);
    const before = await nodeNamed('node01');
    const [first] = RACK.nodes;
    for (const node of [
      { ...first, labels: { mine: 'yes' } },
      { ...first, profile: undefined },
    ]) {
      expect((await importAs('operator', [node])).json()).toMatchObject({ code: 'conflict' });
    }
    expect(
      (await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes', payload: { ...first } })).json(),
    ).toEqual(expect.objectContaining({ code: 'conflict' }));
    expect(await nodeNamed('node01')).toEqual(before);
  });

  it.each([
    ['MAC address', { interfaces: [{ name: 'eth0', mac: '52:54:00:12:34:51', network: 'provisioning' }] }],
    ['address', { interfaces: [{ name: 'eth0', network: 'provisioning', address: '10.0.100.51' }] }],
    ['UUID', { uuid: '00000000-0000-4000-8000-000000000001' }],
  ])('cannot take its %s with a node of another name', async (_what, fields) => {
    const answer = await importAs('operator', [{ name: 'thief', sku: 'gp1', ...fields }]);
    expect(answer.statusCode).toBe(400);
    expect(answer.json().message).toContain('node node01');
    expect((await nodeNamed('thief')).code).toBe('not_found');
  });
});

describe('an operator who adds a node in order to block the next apply of a file', () => {
  it.each([
    ['its host name', { name: 'node04', sku: 'h100', gpus: 8 }],
    ['its MAC address', { interfaces: [{ name: 'eth0', mac: NEW_MAC, network: 'storage' }] }],
    ['its address', { interfaces: [{ name: 'eth0', network: 'provisioning', address: '10.0.100.54' }] }],
    ['its UUID', { uuid: NEW_UUID }],
    ['the address of its BMC', { interfaces: [{ name: 'eth0', network: 'storage', address: '10.0.150.54' }] }],
    [
      'everything, under another name',
      { uuid: NEW_UUID, interfaces: [{ name: 'x', mac: NEW_MAC, network: 'provisioning', address: '10.0.100.54' }] },
    ],
  ])('does not block it with %s', async (_what, fields) => {
    const squatter = { name: 'squatter', sku: 'gp1', ...fields };
    expect((await importAs('operator', [squatter])).statusCode).toBe(200);
    const answer = await applyFile();
    expect(answer.json()).not.toHaveProperty('code');
    expect(answer.statusCode).toBe(200);
    expect(await nodeNamed('node04')).toMatchObject({
      source: 'rack',
      uuid: NEW_UUID,
      interfaces: [{ mac: NEW_MAC, address: '10.0.100.54' }],
      bmc: { address: '10.0.150.54' },
    });
  });

  it('loses only what the file declares, and the plan and the trail say to which node', async () => {
    const address = '10.0.100.54';
    const cards = [
      { name: 'eth0', mac: '52:54:00:99:00:77', network: 'provisioning', address },
      { name: 'eth1', mac: '52:54:00:99:00:78', network: 'storage', address: '10.0.150.77' },
    ];
    await importAs('operator', [{ name: 'other', sku: 'gp1', interfaces: cards }]);
    const { changes } = (await applyFile()).json();
    expect(changes).toContainEqual({
      kind: 'node',
      name: 'other',
      source: 'api',
      change: 'changed',
      details: [`interfaces[0].address: ${address} -> (none)`, `${address} is now declared for node04`],
    });
    expect(await nodeNamed('other')).toMatchObject({
      source: 'api',
      state: 'registered',
      interfaces: [
        { mac: cards[0]?.mac, address: null },
        { mac: cards[1]?.mac, address: '10.0.150.77' },
      ],
    });
    const { events } = (await api.call({ role: 'viewer', url: '/api/v1/events?node=other' })).json();
    expect(events.map(({ kind }: { kind: string }) => kind)).toEqual(['node.created', 'node.changed']);
  });

  it('keeps its identity when the file declares it under another name', async () => {
    await importAs('operator', [
      { name: 'bench-7', sku: 'gp1', interfaces: [{ name: 'eth0', mac: NEW_MAC, network: 'storage' }] },
    ]);
    const { id } = await nodeNamed('bench-7');
    await inState('bench-7', 'ready');
    expect((await applyFile()).statusCode).toBe(200);
    expect(await nodeNamed('node04')).toMatchObject({ id, state: 'ready', source: 'rack' });
    expect((await nodeNamed('bench-7')).code).toBe('not_found');
  });

  it('does not give a file a UUID that the file declares for another node', async () => {
    // The name of one node and the UUID of another.
    await importAs('operator', [{ name: 'node05', sku: 'gp1', uuid: NEW_UUID }]);
    const { uuid: _, interfaces: __, bmc: ___, ...rest } = FOURTH;
    const nodes = [...RACK.nodes, FOURTH, { ...rest, name: 'node05' }];
    const sources = [{ name: 'rack', document: { ...RACK, nodes } }];
    const answer = await api.call({
      role: 'admin',
      method: 'POST',
      url: '/api/v1/inventory/apply',
      payload: { sources },
    });
    expect(answer.statusCode).toBe(200);
    expect([(await nodeNamed('node04')).uuid, (await nodeNamed('node05')).uuid]).toEqual([NEW_UUID, null]);
  });

  it('blocks it only with a node in use, and the refusal names that node and what to do', async () => {
    await importAs('operator', [
      { name: 'squatter', sku: 'gp1', interfaces: [{ name: 'eth0', mac: NEW_MAC, network: 'storage' }] },
    ]);
    await inState('squatter', 'active');
    const refused = await applyFile();
    expect(refused.statusCode).toBe(400);
    expect(refused.json().message).toMatch(
      /nodes\[3\].*52:54:00:99:00:01 is taken by .*node squatter.*added through the API and is active.*declare this node as squatter.*coldiron retire squatter/,
    );
    await api.call({ role: 'operator', method: 'POST', url: '/api/v1/nodes/squatter/retire', payload: {} });
    expect((await nodeNamed('squatter')).state).toBe('retired');
    expect((await applyFile()).statusCode).toBe(200);
  });
});
