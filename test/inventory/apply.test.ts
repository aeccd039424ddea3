import { describe, expect, it } from 'vitest';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { Inventory } from '../../appliance/domain/inventory.ts';
import { applyInventory } from '../../appliance/inventory/apply.ts';
import { counter, inventoryOf, MemoryStore } from './memory-store.ts';
import { declaredBy, node, rackDocument } from './rack.ts';

const edge = () => ({ now: () => 1000, newId: counter() });
const request = (documents: Record<string, unknown>, dryRun = false) => ({
  sources: declaredBy(documents),
  mode: 'reconcile' as const,
  dryRun,
  actor: 'local:ada',
  correlationId: 'c-1',
});
const held = () => inventoryOf(declaredBy({ lab: rackDocument() }));
const withoutNodes = () => ({ ...rackDocument(), nodes: [], clusters: [] });
const inUse = (inventory: Inventory): Inventory => ({
  ...inventory,
  machines: inventory.machines.map((machine) => ({
    ...machine,
    lifecycle: { ...machine.lifecycle, state: 'active' },
  })),
});

async function failure(promise: Promise<unknown>): Promise<ColdironError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ColdironError);
  return error as ColdironError;
}

describe('applying an inventory', () => {
  it('writes everything at once, and reports the revision', async () => {
    const store = new MemoryStore();
    const report = await applyInventory(store, request({ lab: rackDocument() }), edge());
    expect(report).toMatchObject({ dryRun: false, revision: 1, declaredRevision: 1 });
    expect(store.writes).toHaveLength(1);
    expect(store.writes[0]?.audit).toHaveLength(report.changes.length);
    expect(store.held.machines.map(({ spec }) => spec.hostname)).toEqual(['a1', 'a2']);
  });

  it('writes nothing in a dry run, and reports the same changes and refusals', async () => {
    const store = new MemoryStore(inUse(held()));
    const report = await applyInventory(store, request({ lab: withoutNodes() }, true), edge());
    expect(report.dryRun).toBe(true);
    const refused = report.changes.filter(({ change }) => change === 'refused');
    expect(refused.map(({ name }) => name)).toEqual(['prod', 'a1', 'a2']);
    expect(store.writes).toEqual([]);
  });

  it('writes nothing when nothing changed', async () => {
    const store = new MemoryStore(held());
    const report = await applyInventory(store, request({ lab: rackDocument() }), edge());
    expect(report).toMatchObject({ revision: 1, declaredRevision: 1 });
    expect(store.writes).toEqual([]);
  });

  it('refuses the whole apply when machines are in use, and names them', async () => {
    const store = new MemoryStore(inUse(held()));
    const error = await failure(applyInventory(store, request({ lab: withoutNodes() }), edge()));
    expect(error.code).toBe('node_in_use');
    expect(error.details).toEqual([
      'cluster prod: still used by node a1, node a2',
      'node a1: a1 is active: retire it first (coldiron retire a1), or declare it again',
      'node a2: a2 is active: retire it first (coldiron retire a2), or declare it again',
    ]);
    expect(store.writes).toEqual([]);
  });

  it('reports a conflict when only references prevent the apply', async () => {
    const { nodes, clusters, ...catalogue } = rackDocument();
    const store = new MemoryStore(inventoryOf(declaredBy({ catalogue, rest: { nodes, clusters } })));
    const error = await failure(applyInventory(store, request({ catalogue: {} }), edge()));
    expect(error.code).toBe('conflict');
    expect(error.details).toContain('sku small: still used by node a1, node a2');
  });

  it('plans again after a concurrent write', async () => {
    const store = new MemoryStore(held());
    store.meanwhile = () => {
      store.meanwhile = null;
      const [first, ...others] = store.held.machines;
      if (first) store.held = { ...store.held, machines: others, declaredRevision: 9, revision: 9 };
    };
    const changed = rackDocument();
    node(changed, 1).serial = 'x';
    const report = await applyInventory(store, request({ lab: changed }), edge());
    const noteworthy = report.changes.filter(({ change }) => change !== 'unchanged');
    expect(noteworthy.map(({ change, name }) => `${change} ${name}`)).toEqual(['created a1', 'changed a2']);
    expect(report.declaredRevision).toBe(10);
  });

  it('fails with the conflict after five attempts', async () => {
    const store = new MemoryStore();
    let attempts = 0;
    store.meanwhile = () => {
      attempts++;
      store.held = { ...store.held, declaredRevision: store.held.declaredRevision + 1 };
    };
    const error = await failure(applyInventory(store, request({ lab: rackDocument() }), edge()));
    expect([error.code, attempts]).toEqual(['version_conflict', 5]);
  });

  it('propagates a store failure unchanged', async () => {
    const broken = Object.assign(new MemoryStore(), {
      inventory: () => Promise.reject(new ColdironError('store_unavailable', 'disk gone')),
      writeInventory: () => Promise.reject(new Error('must not be called')),
    });
    const error = await failure(applyInventory(broken, request({ lab: rackDocument() }), edge()));
    expect(error.code).toBe('store_unavailable');
  });
});
