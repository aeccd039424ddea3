import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Inventory } from '../../appliance/domain/inventory.ts';
import { EMPTY_INVENTORY } from '../../appliance/domain/inventory.ts';
import { checkInventory, type DeclaredSource } from '../../appliance/inventory/check.ts';
import { planApply } from '../../appliance/inventory/plan.ts';
import { counter, inventoryOf, written } from './memory-store.ts';
import { declaredBy, rackDocument, rackNode } from './rack.ts';

/** Nine machines with random names in two files, with random details. */
const documents = fc
  .record({
    numbers: fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 6 }),
    names: fc.shuffledSubarray(['a', 'b', 'c', 'd', 'e', 'f', 'g'], { minLength: 6 }),
    inFirst: fc.array(fc.boolean(), { minLength: 6, maxLength: 6 }),
    serials: fc.array(fc.constantFrom('s1', 's2'), { minLength: 6, maxLength: 6 }),
    spareSku: fc.boolean(),
  })
  .map(({ numbers, names, inFirst, serials, spareSku }) => {
    const { skus, clusters, ...rest } = rackDocument();
    const nodes = numbers.map((number, at) => ({ ...rackNode(names[at] ?? '', number), serial: serials[at] }));
    return {
      first: {
        ...rest,
        skus: spareSku ? [...skus, { name: 'spare', architecture: 'arm64' }] : skus,
        clusters: clusters.map((cluster) => ({ ...cluster, bootstrap: [] })),
        nodes: nodes.filter((_, at) => inFirst[at]),
      },
      second: { nodes: nodes.filter((_, at) => !inFirst[at]) },
    };
  });

const apply = (held: Inventory, declared: Record<string, unknown>) => planOf(held, declaredBy(declared));

function planOf(held: Inventory, sources: readonly DeclaredSource[]) {
  const newId = counter();
  // New ids must not collide with those of the first apply.
  for (let used = 0; used < 100; used++) newId();
  return planApply(held, {
    sources,
    mode: 'reconcile',
    at: 5,
    actor: 'test',
    correlationId: null,
    newId,
  });
}

describe('any apply', () => {
  it('gives the same result with shared stored specs as with new objects', () => {
    fc.assert(
      fc.property(documents, documents, fc.boolean(), (before, after, twice) => {
        const held = inventoryOf(declaredBy(before));
        const raw = Object.entries(twice ? before : after).map(([name, value]) => ({
          file: `${name}.yaml`,
          name,
          value,
        }));
        const { problems, sources } = checkInventory(raw, held);
        expect(problems).toEqual([]);
        const anew = checkInventory(raw).sources;
        expect(sources).toEqual(anew);
        expect(planOf(held, sources)).toEqual(planOf(held, anew));
        // Unchanged specs are shared, not duplicated.
        const specs = new Set(held.machines.map(({ spec }) => spec));
        const reused = sources.flatMap(({ declared }) => declared.nodes).filter((node) => specs.has(node));
        const unchanged = planOf(held, anew).changes.filter(
          ({ kind, change }) => kind === 'node' && change === 'unchanged',
        );
        expect(reused.length).toBeGreaterThanOrEqual(unchanged.length);
      }),
    );
  });

  it('stores exactly what is declared, and the next apply changes nothing', () => {
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        const held = inventoryOf(declaredBy(before));
        const { writes, refusal } = apply(held, after);
        expect(refusal).toBeNull();
        const now = writes ? written(held, writes) : held;

        const names = [...after.first.nodes, ...after.second.nodes].map(({ name }) => name);
        expect(now.machines.map(({ spec }) => spec.hostname as string).sort()).toEqual(names.sort());
        expect(now.skus.some(({ name }) => name === ('spare' as string))).toBe(after.first.skus.length === 4);

        const again = apply(now, after);
        expect(again.writes).toBeNull();
        expect(again.changes.every(({ change }) => change === 'unchanged')).toBe(true);
      }),
    );
  });

  it('gives each machine exactly one id', () => {
    fc.assert(
      fc.property(documents, documents, (before, after) => {
        const held = inventoryOf(declaredBy(before));
        const { writes } = apply(held, after);
        if (!writes) return;
        const touched = [...writes.createMachines, ...writes.changeMachines, ...writes.removeMachines];
        expect(new Set(touched.map(({ id }) => id)).size).toBe(touched.length);
        for (const { id, version } of [...writes.changeMachines, ...writes.removeMachines]) {
          expect(held.machines.find((machine) => machine.id === id)?.version).toBe(version);
        }
        // An existing name or MAC address keeps its machine.
        const kept = new Set(held.machines.map(({ spec }) => spec.hostname));
        for (const { spec } of writes.createMachines) expect(kept.has(spec.hostname)).toBe(false);
      }),
    );
  });

  it('of some sources never changes the others', () => {
    fc.assert(
      fc.property(documents, documents, (before, { second }) => {
        const held = inventoryOf(declaredBy(before));
        const sources = declaredBy({ first: before.first, second: before.second });
        const onlySecond = sources.filter(({ name }) => name === 'second');
        const names = new Set(second.nodes.map(({ name }) => name));
        const plan = planApply(held, {
          sources: onlySecond.map((source) => ({
            ...source,
            declared: {
              ...source.declared,
              nodes: source.declared.nodes.filter(({ hostname }) => names.has(hostname)),
            },
          })),
          mode: 'reconcile',
          at: 5,
          actor: 'test',
          correlationId: null,
          newId: counter(),
        });
        const first = new Set(before.first.nodes.map(({ name }) => name));
        for (const { name, kind } of plan.changes) expect([kind, first.has(name)]).toEqual(['node', false]);
        expect(plan.writes?.dropCatalogue ?? []).toEqual([]);
      }),
    );
  });

  it('to an empty store creates everything once', () => {
    fc.assert(
      fc.property(documents, (declared) => {
        const { changes } = apply(EMPTY_INVENTORY, declared);
        expect(changes.every(({ change }) => change === 'created')).toBe(true);
      }),
    );
  });
});
