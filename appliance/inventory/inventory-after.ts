// The inventory after a plan, computed without writing it: for dry runs.

import { NO_HARDWARE } from '../domain/hardware-identity.ts';
import type { CatalogueKind, Inventory } from '../domain/inventory.ts';
import type { CatalogueValue, InventoryWrites } from '../store/store.ts';

export function inventoryAfter(held: Inventory, writes: InventoryWrites): Inventory {
  const sources = new Map(held.sources);
  for (const { kind, name } of writes.dropCatalogue) sources.delete(`${kind}/${name}`);
  for (const { kind, name, source } of writes.putCatalogue) sources.set(`${kind}/${name}`, source);
  const list = <T extends CatalogueValue>(kind: CatalogueKind, values: readonly T[]): T[] => {
    const byName = new Map<string, CatalogueValue>(values.map((value) => [value.name, value]));
    for (const drop of writes.dropCatalogue) if (drop.kind === kind) byName.delete(drop.name);
    for (const put of writes.putCatalogue) if (put.kind === kind) byName.set(put.name, put.value);
    return [...byName.values()] as T[];
  };
  const revision = held.revision + 1;
  const machines = new Map(held.machines.map((machine) => [machine.id, machine]));
  const removed = [...(held.removed ?? [])];
  for (const { id, version, lifecycle } of writes.removeMachines) {
    const machine = machines.get(id);
    if (machine) removed.push({ ...machine, lifecycle, version: version + 1, revision });
    machines.delete(id);
  }
  for (const { id, version, ...change } of writes.changeMachines) {
    const machine = machines.get(id);
    if (machine) machines.set(id, { ...machine, ...change, version: version + 1, revision });
  }
  for (const created of writes.createMachines) {
    machines.set(created.id, {
      ...created,
      health: 'unknown',
      hardware: NO_HARDWARE,
      intent: null,
      version: 1,
      revision,
    });
  }
  return {
    sites: list('site', held.sites),
    networks: list('network', held.networks),
    skus: list('sku', held.skus),
    profiles: list('profile', held.profiles),
    clusters: list('cluster', held.clusters),
    roce: list('roce', held.roce),
    machines: [...machines.values()],
    removed,
    sources,
    declaredRevision: held.declaredRevision + 1,
    revision,
  };
}
