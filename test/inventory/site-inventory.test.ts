import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyInventory } from '../../appliance/inventory/apply.ts';
import { applySiteInventory } from '../../appliance/inventory/site-inventory.ts';
import { counter, MemoryStore } from './memory-store.ts';
import { declaredBy, type RackDocument, rackDocument } from './rack.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-site-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const withSerial = (serial: string): RackDocument => {
  const rack = rackDocument();
  Object.assign(rack.nodes[0] ?? {}, { serial });
  return rack;
};

function siteOf(store: MemoryStore) {
  const logged: object[] = [];
  const logger = { info: (fields: object) => void logged.push(fields), error: () => {} };
  const appliance = Object.assign(store, { appendEvents: async () => {} });
  const files = ['lab', 'skus'].map((name) => join(folder, `${name}.yaml`));
  const site = { file: 'coldiron.yaml', inline: null, inventoryFiles: files, state: folder };
  return {
    logged,
    write: (name: string, document: object) => writeFile(join(folder, `${name}.yaml`), JSON.stringify(document)),
    start: () => applySiteInventory(appliance, store.held, site, { now: () => 0, newId: counter(), logger }),
    apply: (documents: Record<string, object>) => {
      const request = { mode: 'reconcile', dryRun: false, actor: 'ada', correlationId: null } as const;
      return applyInventory(store, { ...request, sources: declaredBy(documents) }, { now: () => 0, newId: counter() });
    },
    serial: () => store.held.machines.find(({ spec }) => spec.hostname === 'a1')?.spec.serial,
  };
}

describe('a start after another file of the same source was applied', () => {
  it('keeps the applied changes while the files of the site are unchanged', async () => {
    const site = siteOf(new MemoryStore());
    await site.write('lab', withSerial('s1'));
    await site.write('skus', { skus: [{ name: 'spare', architecture: 'x86_64' }] });
    await site.start();
    await site.apply({ lab: withSerial('s2') });
    await site.start();
    expect(site.serial()).toBe('s2');
    await site.write('skus', { skus: [{ name: 'other', architecture: 'x86_64' }] });
    await site.start();
    expect(site.serial()).toBe('s2');
    expect(site.logged.at(-1)).toMatchObject({ sources: ['skus'], changed: 2 });
  });

  it('applies a file that was edited since, and logs the changes', async () => {
    const site = siteOf(new MemoryStore());
    await site.write('lab', withSerial('s1'));
    await site.write('skus', {});
    await site.start();
    await site.apply({ lab: withSerial('s2') });
    await site.write('lab', withSerial('s3'));
    await site.start();
    expect(site.serial()).toBe('s3');
    expect(site.logged.at(-1)).toMatchObject({ sources: ['lab'], changes: ['node a1 changed'] });
  });

  it('applies everything to a store that is older than the last start', async () => {
    const first = siteOf(new MemoryStore());
    await first.write('lab', withSerial('s1'));
    await first.write('skus', {});
    await first.start();
    const restored = siteOf(new MemoryStore());
    await restored.start();
    expect(restored.serial()).toBe('s1');
  });
});

describe('a start that finds a change of a SKU that nodes use', () => {
  it('keeps the inventory and makes a proposal; after the approvals, the next start applies it', async () => {
    const store = new MemoryStore();
    const site = siteOf(store);
    const owned = (owner: string | null) => {
      const document = withSerial('s1') as { skus: object[] };
      return { ...document, skus: document.skus.map((sku) => ({ ...sku, ...(owner !== null && { owner }) })) };
    };
    const owners = () => [...new Set(store.held.skus.map(({ owner }) => owner))];
    await site.write('lab', owned(null));
    await site.write('skus', {});
    await site.start();
    await site.write('lab', owned('ops'));
    await site.start();
    expect(owners()).toEqual([null]);
    const open = await store.proposals({ limit: 9 });
    expect(open).toMatchObject([{ state: 'proposed', proposedBy: 'appliance', needs: { approvals: 2 } }]);
    for (const proposal of open) {
      await store.updateProposal({ ...proposal, state: 'approved', version: proposal.version + 1 });
    }
    await site.start();
    expect(owners()).toEqual(['ops']);
    expect(await store.proposals({ limit: 9 })).toMatchObject([{ state: 'carried-out' }]);
  });
});
