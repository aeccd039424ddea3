import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { applyInventory } from '../../appliance/inventory/apply.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { counter } from './memory-store.ts';
import { declaredBy, rackDocument } from './rack.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'coldiron-old-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const request = { mode: 'reconcile', dryRun: false, actor: 'test', correlationId: null } as const;

/** Removes every field that the first version did not write. */
function asBefore(text: string, newer: readonly string[]): string {
  const value = JSON.parse(text) as Record<string, unknown> & { interfaces?: { mtu?: unknown }[] };
  for (const key of newer) {
    expect(value).toHaveProperty(key);
    delete value[key];
  }
  for (const nic of value.interfaces ?? []) delete nic.mtu;
  return JSON.stringify(value);
}

const NEWER: Readonly<Record<string, readonly string[]>> = {
  site: ['apiUrl', 'ntp', 'timezone', 'accounts', 'bootstrap', 'inside'],
  network: ['mtu', 'routes', 'purpose'],
  sku: [],
  cluster: [],
  profile: [
    'storage',
    'image',
    'packages',
    'kernelParameters',
    'timezone',
    'locale',
    'keyboard',
    'stateVersion',
    'secrets',
    'roce',
    'enrollment',
    'accounts',
  ],
  node: ['bonds', 'vlans', 'storage', 'accounts', 'packages', 'enrollment'],
};

function rewriteAsBefore(file: string): void {
  const db = new Sqlite(file);
  const catalogue = db.prepare('select kind, name, value from catalogue').all() as Record<
    'kind' | 'name' | 'value',
    string
  >[];
  for (const { kind, name, value } of catalogue) {
    db.prepare('update catalogue set value = ? where kind = ? and name = ?').run(
      asBefore(value, NEWER[kind] ?? []),
      kind,
      name,
    );
  }
  const machines = db.prepare('select id, spec from machines').all() as Record<'id' | 'spec', string>[];
  for (const { id, spec } of machines) {
    const onboarding = { 'first-boot': 'maas', manual: 'manual' }[JSON.parse(spec).enrollment as string] ?? null;
    const before = { ...JSON.parse(asBefore(spec, NEWER.node ?? [])), onboarding };
    db.prepare('update machines set spec = ? where id = ?').run(JSON.stringify(before), id);
  }
  db.close();
}

describe('a store that an earlier version wrote', () => {
  it('is completed with defaults, and applying the same files changes nothing', async () => {
    const file = join(folder, 'coldiron.db');
    const rack = rackDocument();
    Object.assign(rack.nodes[0] ?? {}, { enrollment: 'first-boot' });
    const sources = declaredBy({ lab: rack });
    const edge = { now: () => 0, newId: counter() };
    const first = await openSqliteStore({ file });
    await applyInventory(first, { ...request, sources }, edge);
    const now = await first.inventory();
    await first.close();

    rewriteAsBefore(file);
    const store = await openSqliteStore({ file });
    try {
      const then = await store.inventory();
      expect(then).toEqual(now);
      const [machine] = then.machines;
      expect(machine && (await store.machine(machine.id))).toEqual(machine);
      expect((await store.changesSince(0)).machines).toEqual(then.machines);

      const { changes, declaredRevision } = await applyInventory(store, { ...request, sources }, edge);
      expect(changes.filter(({ change }) => change !== 'unchanged')).toEqual([]);
      expect(declaredRevision).toBe(now.declaredRevision);
    } finally {
      await store.close();
    }
  });

  it('stores and reads new fields and RoCE links', async () => {
    const rack = rackDocument();
    rack.roce = [{ hostname: 'a7', links: [{ name: 'roce0', address: '10.50.0.7/24' }] }];
    Object.assign(rack.nodes[0] ?? {}, {
      bonds: [{ name: 'bond0', members: ['eth1'], network: 'work', address: '10.0.2.44' }],
    });
    delete rack.nodes[0]?.interfaces[1]?.address;
    const sources = declaredBy({ lab: rack });
    const store = await openSqliteStore({ file: join(folder, 'new.db') });
    try {
      await applyInventory(store, { ...request, sources }, { now: () => 0, newId: counter() });
      const held = await store.inventory();
      expect(held.roce).toEqual(sources[0]?.declared.roce);
      expect(held.sources.get('roce/lab.a7')).toBe('lab');
      expect(held.machines.map(({ spec }) => spec)).toEqual(sources[0]?.declared.nodes);
      // The address of a bond is indexed like that of an interface.
      const claims = new Sqlite(join(folder, 'new.db'), { readonly: true });
      const row = claims.prepare("select kind from machine_claims where value = '10.0.2.44'").get();
      claims.close();
      expect(row).toEqual({ kind: 'address' });
    } finally {
      await store.close();
    }
  });
});
