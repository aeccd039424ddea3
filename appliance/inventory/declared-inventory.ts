// The inventory of checked files as if they had been applied to an empty store: for commands that work without an appliance.

import { NO_HARDWARE } from '../domain/hardware-identity.ts';
import type { Instant } from '../domain/instant.ts';
import { EMPTY_INVENTORY, type Inventory } from '../domain/inventory.ts';
import type { DeclaredSource } from './check.ts';
import { planApply } from './plan.ts';

export function declaredInventory(sources: readonly DeclaredSource[], at: Instant, newId: () => string): Inventory {
  const { writes } = planApply(EMPTY_INVENTORY, {
    sources,
    mode: 'reconcile',
    at,
    actor: 'nobody',
    correlationId: null,
    newId,
  });
  const all = sources.map(({ declared }) => declared);
  return {
    ...EMPTY_INVENTORY,
    sites: all.flatMap(({ sites }) => sites),
    networks: all.flatMap(({ networks }) => networks),
    skus: all.flatMap(({ skus }) => skus),
    profiles: all.flatMap(({ profiles }) => profiles),
    clusters: all.flatMap(({ clusters }) => clusters),
    roce: all.flatMap(({ roce }) => roce),
    machines: (writes?.createMachines ?? []).map((created) => ({
      ...created,
      health: 'unknown',
      hardware: NO_HARDWARE,
      intent: null,
      version: 1,
      revision: 1,
    })),
  };
}
