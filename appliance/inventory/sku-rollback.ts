// Restores the version that a SKU had before its last approved change. The file that declares it still says the other version: the next
// apply of that file is again a change that needs approval.

import { byteSizeText } from '../domain/byte-size.ts';
import type { Sku } from '../domain/catalogue.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import type { Inventory } from '../domain/inventory.ts';
import type { Proposal } from '../domain/proposal.ts';
import { completeSku } from '../domain/stored-inventory.ts';
import { carriedOut } from '../proposals/decide.ts';
import type { Proposed } from '../proposals/proposals.ts';
import type { InventoryWrites } from '../store/store.ts';
import { type ApplyStore, applyInventory } from './apply.ts';
import { checkInventory } from './check.ts';
import { sameValue } from './difference.ts';
import {
  governedChanges,
  nodeCount,
  SKU_NEEDS,
  type SkuChange,
  skuBody,
  skuChange,
  skuSubject,
} from './sku-approvals.ts';

type Versions = {
  readonly before: Parameters<typeof completeSku>[0];
  readonly after: Parameters<typeof completeSku>[0];
};

/** `last` is the newest change of the SKU that was carried out. */
export function rollbackOf(held: Inventory, name: string, last: Proposal | null): SkuChange {
  const now = held.skus.find((sku) => sku.name === name);
  if (!now) throw new ColdironError('not_found', `there is no SKU ${name}`, [], 'List them: coldiron skus list');
  if (!last) {
    throw new ColdironError('conflict', `${name} has no earlier version: it was not changed while a node used it`);
  }
  const { before, after } = last.body as unknown as Versions;
  if (!sameValue(now, completeSku(after))) {
    throw new ColdironError('conflict', `${name} has changed since its last approval, while no node used it`);
  }
  return skuChange(held, now, completeSku(before));
}

export function rollbackProposal(
  { before, after, nodes, impact }: SkuChange,
  by: Pick<Proposed, 'proposedBy' | 'principal' | 'role' | 'byAgent' | 'correlationId'>,
): Proposed {
  return {
    carriedOutBy: 'appliance',
    operation: 'rollBackSku',
    params: { sku: before.name },
    body: skuBody(before, after),
    expects: null,
    subject: skuSubject(before.name),
    what: `roll the SKU ${before.name} back, which ${nodeCount(nodes)} use`,
    impact,
    ...by,
    // Nobody is affected by a SKU that no node has.
    needs: nodes === 0 ? { ...SKU_NEEDS, approvals: 0 } : SKU_NEEDS,
  };
}

/** Writes the earlier version and settles the proposal, in one transaction. */
export async function rollBackSku(
  store: ApplyStore,
  proposal: Proposal,
  deps: { readonly now: () => Instant; readonly newId: () => string },
): Promise<void> {
  const held = await store.inventory();
  const { before, after } = proposal.body as unknown as Versions;
  const target = completeSku(after);
  const source = held.sources.get(`sku/${target.name}`);
  if (source === undefined) throw new ColdironError('version_conflict', `there is no SKU ${target.name} any more`);
  const document = { file: `sku ${target.name}`, name: source, value: { skus: [skuDocument(target)] } };
  const { problems, sources } = checkInventory([document], held, 'additive');
  if (problems.length > 0) throw new ColdironError('invalid_inventory', problems.join('; '));
  const { proposedBy: actor, correlationId } = proposal;
  const request = { sources, mode: 'additive', dryRun: false, actor, correlationId } as const;
  const approve = (now: Inventory, writes: InventoryWrites): InventoryWrites => {
    const known = now.skus.find(({ name }) => name === target.name);
    if (!known || !sameValue(known, completeSku(before)) || governedChanges(now, writes).length > 1) {
      throw new ColdironError('version_conflict', `the SKU ${target.name} has changed`);
    }
    const settled = carriedOut(proposal, null, { at: deps.now(), actor, correlationId });
    return {
      ...writes,
      proposals: [settled.proposal],
      events: [...writes.events, ...settled.events],
      audit: [...writes.audit, ...settled.audit],
    };
  };
  await applyInventory(store, { ...request, approve }, deps);
}

/** As a file declares it. */
function skuDocument({ minimum, name, description, active, architecture, gpus, regions, owner, hardware }: Sku) {
  const size = (bytes: number | null) => (bytes === null ? null : byteSizeText(bytes));
  return {
    ...{ name, description, active, architecture, gpus, regions: [...regions], hardware },
    ...(owner !== null && { owner }),
    ...(minimum && {
      minimum: withoutNulls({
        ...{ cores: minimum.cores, threads: minimum.threads, memory: size(minimum.memoryBytes), disks: minimum.disks },
        ...{ disk_size: size(minimum.diskBytes), nics: minimum.nics, nic_mbps: minimum.nicMbps },
      }),
    }),
  };
}

const withoutNulls = (fields: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
