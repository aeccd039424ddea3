import { expect, it } from 'vitest';
import { type Engine, useStore } from '../engines.ts';
import { leaseOf, mac, NOW, objectName } from '../samples.ts';

export function leasesContract(engine: Engine): void {
  const opened = useStore(engine);

  it('stores each lease unchanged', async () => {
    const { store, another } = opened();
    const leases = [leaseOf(1), leaseOf(2, { state: 'declined' }), leaseOf(3, { state: 'released' })];
    await store.commitLeases(leases);
    expect(await store.leases()).toEqual(leases);
    expect(await (await another()).leases()).toEqual(leases);
  });

  it('stores one lease per address: a later one replaces the earlier one', async () => {
    const { store } = opened();
    await store.commitLeases([leaseOf(1), leaseOf(2)]);
    const successor = leaseOf(1, {
      mac: mac(9),
      grantedAt: NOW + 5,
      expiresAt: NOW + 6,
      network: objectName('rescue'),
    });
    await store.commitLeases([successor]);
    expect(await store.leases()).toEqual([successor, leaseOf(2)]);
  });

  it('stores the last of several leases of one address in one commit', async () => {
    const { store } = opened();
    const released = leaseOf(1, { state: 'released' });
    await store.commitLeases([leaseOf(1), leaseOf(2), released]);
    expect(await store.leases()).toEqual([released, leaseOf(2)]);
  });

  it('lists the leases of one network', async () => {
    const { store } = opened();
    const elsewhere = leaseOf(2, { network: objectName('rescue') });
    await store.commitLeases([leaseOf(1), elsewhere]);
    expect(await store.leases(objectName('rescue'))).toEqual([elsewhere]);
    expect(await store.leases(objectName('nowhere'))).toEqual([]);
  });

  it('commits an empty list, and more than fit one statement', async () => {
    const { store } = opened();
    await store.commitLeases([]);
    expect(await store.leases()).toEqual([]);
    const many = Array.from({ length: 1_201 }, (_, n) => leaseOf(n));
    await store.commitLeases(many);
    const stored = await store.leases();
    expect(stored).toHaveLength(1_201);
    expect(new Set(stored.map(({ address }) => address))).toEqual(new Set(many.map(({ address }) => address)));
  });

  it('commits from concurrent callers', async () => {
    const { store } = opened();
    await Promise.all(Array.from({ length: 50 }, (_, n) => store.commitLeases([leaseOf(n)])));
    expect(await store.leases()).toHaveLength(50);
  });
}
