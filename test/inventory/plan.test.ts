import { describe, expect, it } from 'vitest';
import type { Inventory, ObjectChange } from '../../appliance/domain/inventory.ts';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { planApply } from '../../appliance/inventory/plan.ts';
import { idNumber, inventoryOf } from './memory-store.ts';
import { at, declaredBy, nic, node, type RackDocument, rackDocument, rackNode } from './rack.ts';

const NOW = 1_000_000;
const FRESH = idNumber(77);

const plan = (held: Inventory, documents: Record<string, unknown>, mode: 'reconcile' | 'additive' = 'reconcile') =>
  planApply(held, {
    sources: declaredBy(documents),
    mode,
    at: NOW,
    actor: 'local:ada',
    correlationId: 'c-1',
    newId: () => FRESH,
  });

/** Plans an import of nodes over the API. */
const importOf = (held: Inventory, nodes: unknown[]) => {
  const [source] = declaredBy({ lab: { ...rackDocument(), clusters: [], nodes } });
  if (!source) throw new Error('nothing is declared');
  const nothing = { sites: [], networks: [], skus: [], profiles: [], clusters: [], roce: [] };
  const sources = [{ ...source, name: 'api', declared: { ...nothing, nodes: source.declared.nodes } }];
  const by = { at: NOW, actor: 'local:ada', correlationId: 'c-1', newId: () => FRESH };
  return planApply(held, { sources, mode: 'additive', ...by });
};

const rack = (edit: (rack: RackDocument) => void = () => {}): RackDocument => {
  const document = rackDocument();
  edit(document);
  return document;
};
const held = (documents: Record<string, unknown> = { lab: rack() }) => inventoryOf(declaredBy(documents));
const noteworthy = (changes: readonly ObjectChange[]) =>
  changes
    .filter(({ change }) => change !== 'unchanged')
    .map(({ kind, name, change, details }) => [`${change} ${kind} ${name}`, ...details]);

const machine = (inventory: Inventory, hostname: string): Machine => {
  const found = inventory.machines.find(({ spec }) => spec.hostname === hostname);
  if (!found) throw new Error(`no ${hostname}`);
  return found;
};
const withMachine = (inventory: Inventory, hostname: string, change: Partial<Machine>): Inventory => ({
  ...inventory,
  machines: inventory.machines.map((one) => (one.spec.hostname === hostname ? { ...one, ...change } : one)),
});
const inState = (inventory: Inventory, hostname: string, state: LifecycleState): Inventory =>
  withMachine(inventory, hostname, { lifecycle: { ...machine(inventory, hostname).lifecycle, state } });
/** As discovery lists it: undeclared, with a generated name. */
const discovered = (inventory: Inventory, hostname: string, as: string): Inventory => {
  const { spec } = machine(inventory, hostname);
  const renamed = { ...spec, hostname: as as typeof spec.hostname, sku: null, profile: null, cluster: null };
  return withMachine(inState(inventory, hostname, 'discovered'), hostname, { source: 'network', spec: renamed });
};

describe('planning an apply', () => {
  it('creates a new node for a removed machine, and says what that means', () => {
    const before = held();
    const gone = machine(inState(before, 'a1', 'removed'), 'a1');
    const without: Inventory = {
      ...before,
      machines: before.machines.filter(({ id }) => id !== gone.id),
      removed: [gone],
    };
    const { changes, writes, refusal } = plan(without, { lab: rack() });
    expect(refusal).toBeNull();
    expect(writes?.createMachines).toMatchObject([{ id: FRESH, lifecycle: { state: 'registered' } }]);
    expect(noteworthy(changes)).toEqual([
      ['created node a1', expect.stringMatching(/belonged to a1, removed at .*: this is a new node.*token issue a1/)],
    ]);
  });

  it('creates new objects, and accepts a declared machine at once', () => {
    const { changes, writes } = plan(held(), { lab: rack((r) => r.nodes.push(rackNode('a3', 3))) });
    expect(noteworthy(changes)).toEqual([['created node a3']]);
    expect(writes?.createMachines).toMatchObject([
      { id: FRESH, source: 'lab', spec: { hostname: 'a3' }, lifecycle: { state: 'registered', since: NOW } },
    ]);
    expect(writes?.events).toEqual([
      {
        at: NOW,
        kind: 'node.created',
        actor: 'local:ada',
        machine: FRESH,
        correlationId: 'c-1',
        data: { name: 'a3', source: 'lab', details: [] },
      },
    ]);
    expect(writes?.audit).toMatchObject([
      { action: 'inventory.node.created', target: 'node:a3', before: null, after: { name: 'a3', sku: 'small' } },
    ]);
  });

  it('lists changes in the notation of the file', () => {
    const inventory = held();
    const { changes, writes } = plan(inventory, {
      lab: rack((r) => {
        nic(r, 0, 0).address = '10.0.1.33';
        node(r, 0).labels = { rackUnit: '7' };
        Object.assign(at(r.networks, 1), {
          prefix: '10.0.2.0/23',
          dns: ['10.0.2.1', '8.8.8.8'],
          efi_loader: 'ipxe',
        });
        Object.assign(at(r.profiles, 1), { deploy_minutes: 90 });
      }),
    });
    expect(noteworthy(changes)).toEqual([
      [
        'changed network work',
        'prefix: 10.0.2.0/24 -> 10.0.2.0/23',
        'dns: (none) -> 10.0.2.1, 8.8.8.8',
        'efi_loader: snponly -> ipxe',
      ],
      ['changed profile debian', 'deploy_minutes: 60 -> 90'],
      ['changed node a1', 'interfaces[0].address: 10.0.1.11 -> 10.0.1.33', 'labels.rackUnit: (none) -> 7'],
    ]);
    const { id, version } = machine(inventory, 'a1');
    expect(writes?.changeMachines).toMatchObject([{ id, version, source: 'lab' }]);
    expect(writes?.changeMachines[0]).not.toHaveProperty('lifecycle');
    expect(writes?.audit.map(({ action, target }) => `${action} ${target}`)).toEqual([
      'inventory.network.changed network:work',
      'inventory.profile.changed profile:debian',
      'inventory.node.changed node:a1',
    ]);
  });

  it('limits a long list of differences', () => {
    const labels = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`l${n}`, 'x']));
    const { changes } = plan(held(), { lab: rack((r) => Object.assign(node(r, 0), { labels })) });
    const details = changes.find(({ change }) => change === 'changed')?.details ?? [];
    expect(details).toHaveLength(21);
    expect(details.at(-1)).toBe('and 10 more');
  });

  it('writes nothing when nothing changed', () => {
    const { changes, writes } = plan(held(), { lab: rack() });
    expect(changes.length).toBeGreaterThan(8);
    expect(changes.every(({ change }) => change === 'unchanged')).toBe(true);
    expect(writes).toBeNull();
  });

  it('removes objects that its sources no longer declare, except in additive mode', () => {
    const smaller = rack((r) => {
      r.nodes.pop();
      r.skus.splice(1, 1);
    });
    const inventory = held();
    const { changes, writes } = plan(inventory, { lab: smaller });
    expect(noteworthy(changes)).toEqual([['removed sku arm'], ['removed node a2']]);
    expect(writes?.dropCatalogue).toEqual([{ kind: 'sku', name: 'arm' }]);
    expect(writes?.removeMachines).toMatchObject([
      {
        id: machine(inventory, 'a2').id,
        lifecycle: { state: 'removed', since: NOW, note: 'no longer declared by lab' },
      },
    ]);
    expect(plan(inventory, { lab: smaller }, 'additive').writes).toBeNull();
  });

  it('names the nodes of a SKU that changes', () => {
    const changed = rack((r) => {
      r.skus = r.skus.map((sku) => ({ ...sku, owner: 'ops' }));
    });
    const skus = noteworthy(plan(held(), { lab: changed }).changes);
    expect(skus).toEqual([
      [
        'changed sku small',
        expect.stringContaining('owner'),
        '2 nodes are of this SKU, so two people approve it: a1, a2',
      ],
      ['changed sku arm', expect.stringContaining('owner')],
      ['changed sku gone', expect.stringContaining('owner')],
    ]);
  });

  it('does not change objects of other sources, of the API and of the network', () => {
    let inventory = held({ lab: rack(), more: { skus: [{ name: 'big', architecture: 'x86_64' }] } });
    inventory = withMachine(inventory, 'a2', { source: 'api' });
    const empty = { more: { skus: [{ name: 'huge', architecture: 'x86_64' }] } };
    expect(noteworthy(plan(inventory, empty).changes)).toEqual([['created sku huge'], ['removed sku big']]);
  });

  it('reports that a file takes objects over from another file', () => {
    const { changes } = plan(held(), { renamed: rack() });
    const reported = changes.filter(({ details }) =>
      details.some((line) => line.startsWith('is taken over from lab; remove')),
    );
    expect(reported).toHaveLength(changes.length);
  });

  it('refuses to take an object from a file over the API', () => {
    const { cluster: _, ...node } = rackNode('a1', 1);
    const nodes = [{ ...node, serial: 'other' }];
    const { changes, refusal } = importOf(held(), nodes);
    expect(changes).toMatchObject([
      {
        change: 'refused',
        details: ['is declared by the inventory file lab: change it there and apply that, or remove it there first'],
      },
    ]);
    expect(refusal).toBe('conflict');
  });

  it('keeps known hardware data until a declaration contradicts it', () => {
    const uuid = '4c4c4544-0000-1000-8000-000000000001';
    const accepted = withMachine(held(), 'a1', {
      source: 'network',
      spec: { ...machine(held(), 'a1').spec, uuid, serial: 'S1' } as never,
    });
    const { bmc: _, cluster: __, ...node } = rackNode('a1', 1);
    const imported = importOf(accepted, [node]);
    expect(imported.writes?.changeMachines[0]?.spec).toMatchObject({
      uuid,
      serial: 'S1',
      bmc: { address: '10.0.9.11' },
    });
    expect(imported.changes[0]?.details).toEqual([
      'cluster: prod -> (none)',
      'source: network -> api',
      `uuid remains ${uuid}: the declaration has none`,
      'serial remains S1: the declaration has none',
      'bmc remains 10.0.9.11: the declaration has none',
    ]);
    const contradicted = importOf(accepted, [{ ...node, serial: 'S2' }]);
    expect(contradicted.writes?.changeMachines[0]?.spec).toMatchObject({ uuid, serial: 'S2' });
  });

  it('removes the BMC of a node when the file of the node no longer declares it', () => {
    const rack = rackDocument();
    delete (rack.nodes[0] as { bmc?: unknown }).bmc;
    const { writes } = plan(held(), { lab: rack });
    expect(writes?.changeMachines.map(({ spec }) => spec.bmc)).toEqual([null]);
  });

  it('moves an object to its new source', () => {
    const { nodes, ...rest } = rack();
    const inventory = held();
    const { changes, writes } = plan(withMachine(inventory, 'a1', { source: 'api' }), { lab: rest, new: { nodes } });
    expect(noteworthy(changes)).toEqual([
      ['changed node a1', 'source: api -> new'],
      ['changed node a2', 'source: lab -> new'],
    ]);
    expect(writes?.changeMachines.map(({ id, source }) => [id, source])).toEqual([
      [machine(inventory, 'a1').id, 'new'],
      [machine(inventory, 'a2').id, 'new'],
    ]);
  });

  it('recognizes a renamed machine by a MAC address in any state', () => {
    const inventory = inState(held(), 'a2', 'active');
    const renamed = rack((r) => {
      node(r, 1).name = 'b2';
    });
    const { changes, writes, refusal } = plan(inventory, { lab: renamed });
    expect(refusal).toBeNull();
    expect(noteworthy(changes)).toEqual([['changed node b2', 'name: a2 -> b2']]);
    expect(writes?.changeMachines).toMatchObject([{ id: machine(inventory, 'a2').id, spec: { hostname: 'b2' } }]);
    expect([...(writes?.createMachines ?? []), ...(writes?.removeMachines ?? [])]).toEqual([]);
  });

  it('adopts a discovered machine', () => {
    const inventory = discovered(held(), 'a2', 'new-525400000102');
    const { changes, writes } = plan(inventory, { lab: rack() });
    expect(noteworthy(changes)[0]?.slice(0, 2)).toEqual(['changed node a2', 'name: new-525400000102 -> a2']);
    expect(writes?.changeMachines).toMatchObject([
      { id: machine(inventory, 'new-525400000102').id, source: 'lab', lifecycle: { state: 'registered', since: NOW } },
    ]);
    expect(writes?.events.map(({ kind }) => kind)).toEqual(['node.changed', 'lifecycle.registered']);
  });

  it('adopts a machine that was accepted by hand before, and keeps its state', () => {
    const listed = discovered(held(), 'a2', 'new-525400000102');
    const inventory = inState(listed, 'new-525400000102', 'ready');
    const { changes, writes, refusal } = plan(inventory, { lab: rack() });
    expect(refusal).toBeNull();
    expect(noteworthy(changes)[0]?.slice(0, 2)).toEqual(['changed node a2', 'name: new-525400000102 -> a2']);
    expect(writes?.changeMachines).toMatchObject([{ id: machine(inventory, 'new-525400000102').id, source: 'lab' }]);
    expect(writes?.changeMachines[0]?.lifecycle).toBeUndefined();
  });

  it('lets a known node take over the MAC of a discovered machine', () => {
    const inventory = discovered(held({ lab: rack((r) => r.nodes.push(rackNode('a3', 3))) }), 'a3', 'new-card');
    const { changes } = plan(inventory, {
      lab: rack((r) => {
        nic(r, 0, 0).mac = '52:54:00:00:01:03';
      }),
    });
    expect(noteworthy(changes)).toEqual([
      ['changed node a1', 'interfaces[0].mac: 52:54:00:00:01:01 -> 52:54:00:00:01:03'],
      ['removed node new-card', 'its MAC address is now declared for a1'],
    ]);
  });

  const renamed = rack((r) => {
    node(r, 1).name = 'b2';
  });

  it('takes over a node of the API that is not in use by a MAC address', () => {
    const inventory = withMachine(held(), 'a2', { source: 'api' });
    const { changes, refusal, writes } = plan(inventory, { lab: renamed });
    expect(refusal).toBeNull();
    expect(noteworthy(changes)).toEqual([['changed node b2', 'name: a2 -> b2', 'source: api -> lab']]);
    expect(writes?.changeMachines).toMatchObject([{ id: machine(inventory, 'a2').id, source: 'lab' }]);
  });

  it.each([
    [
      'api',
      'that node was added through the API and is active: declare this node as a2, or take a2 out of use (coldiron retire a2)',
    ],
    ['other', 'change or remove a2 first'],
  ])('does not take a MAC address from an active node of %s', (source, advice) => {
    const { changes, refusal } = plan(withMachine(inState(held(), 'a2', 'active'), 'a2', { source }), { lab: renamed });
    expect(refusal).toBe('conflict');
    expect(noteworthy(changes)).toEqual([
      ['refused node b2', `52:54:00:00:01:02, 52:54:00:00:02:02 belongs to a2, declared by ${source}: ${advice}`],
    ]);
  });

  it.each(['active', 'deploying', 'failed', 'quarantined'] as const)(
    'does not remove a machine that is %s',
    (state) => {
      const { changes, refusal } = plan(inState(held(), 'a2', state), { lab: rack((r) => r.nodes.pop()) });
      expect(refusal).toBe('node_in_use');
      expect(noteworthy(changes)).toEqual([
        ['refused node a2', `a2 is ${state}: retire it first (coldiron retire a2), or declare it again`],
      ]);
    },
  );

  it.each(['registered', 'ready', 'retired'] as const)('removes a machine that is %s', (state) => {
    const { refusal, writes } = plan(inState(held(), 'a2', state), { lab: rack((r) => r.nodes.pop()) });
    expect(refusal).toBeNull();
    expect(writes?.removeMachines).toHaveLength(1);
  });

  it('does not remove objects that are still used', () => {
    const { nodes, clusters, ...catalogue } = rack();
    const inventory = held({ catalogue, nodes: { nodes, clusters } });
    const { changes, refusal } = plan(inventory, { catalogue: {} });
    expect(refusal).toBe('conflict');
    expect(noteworthy(changes)).toEqual([
      ['refused site lab', 'still used by cluster prod, node a1, node a2'],
      ['refused network boot', 'still used by node a1, node a2'],
      ['refused network work', 'still used by cluster prod, node a1, node a2'],
      ['refused sku small', 'still used by node a1, node a2'],
      ['removed sku arm'],
      ['removed sku gone'],
      ['refused profile nixos', 'still used by node a1, node a2'],
      ['removed profile debian'],
      ['removed profile old'],
    ]);
  });

  it('lists changes of disks and links in the notation of the file', () => {
    const before = rack((r) => {
      Object.assign(at(r.profiles, 0), { storage: { disks: [{ min_size: '480GB' }], swap: '8GiB' } });
    });
    const after = rack((r) => {
      Object.assign(at(r.profiles, 0), { storage: { disks: [{ min_size: '1.92TB', max_size: '4TB' }] } });
      Object.assign(nic(r, 1, 1), { mtu: 9000 });
    });
    expect(noteworthy(plan(held({ lab: before }), { lab: after }).changes)).toEqual([
      [
        'changed profile nixos',
        'storage.disks[0].min_size: 480GB -> 1.92TB',
        'storage.disks[0].max_size: (none) -> 4TB',
        'storage.swap: 8192MiB -> (none)',
      ],
      ['changed node a2', 'interfaces[1].mtu: (none) -> 9000'],
    ]);
  });

  it('keeps assigned RoCE links with or without a node, and removes them with their source', () => {
    const links = (mtu: number) => [{ name: 'roce0', address: '10.50.0.7/24', mtu }];
    const inventory = held({ lab: rack(), fabric: { roce: [{ hostname: 'a7', site: 'lab', links: links(9000) }] } });
    expect(inventory.roce.map(({ name }) => name as string)).toEqual(['lab.a7']);

    const edited = { lab: rack(), fabric: { roce: [{ hostname: 'a7', site: 'lab', links: links(4200) }] } };
    expect(noteworthy(plan(inventory, edited).changes)).toEqual([
      ['changed roce lab.a7', 'links[0].mtu: 9000 -> 4200'],
    ]);
    expect(noteworthy(plan(inventory, { lab: rack(), fabric: {} }).changes)).toEqual([['removed roce lab.a7']]);
    const { changes, refusal } = plan(inventory, { lab: {} });
    expect(refusal).toBe('conflict');
    expect(noteworthy(changes)).toContainEqual(['refused site lab', 'still used by roce lab.a7']);
  });
});
