import { expect, it } from 'vitest';
import { InterfaceWatch } from '../../appliance/net/interface-watch.ts';
import { networkWith } from '../boot/boot-fixtures.ts';

it('reports when a configured interface appears, is created anew or gets its address, and ignores others', () => {
  const networks = [networkWith({ interface: 'eth1' }), networkWith({ interface: null })];
  const indexes = new Map<string, number>();
  const addresses: Record<string, { address: string }[]> = {};
  const watch = new InterfaceWatch(
    { networks: () => networks.values() },
    (device) => indexes.get(device) ?? null,
    () => addresses,
  );
  const sees = (change: () => void): boolean[] => {
    change();
    return [watch.hasChanged(), watch.hasChanged()];
  };
  expect(sees(() => {})).toEqual([false, false]);
  expect(sees(() => indexes.set('eth1', 7))).toEqual([true, false]);
  expect(
    sees(() => {
      addresses.eth1 = [{ address: '10.0.100.10' }];
    }),
  ).toEqual([true, false]);
  expect(sees(() => indexes.set('eth1', 8))).toEqual([true, false]);
  expect(
    sees(() => {
      indexes.set('eth2', 9);
      addresses.eth2 = [{ address: '10.0.200.10' }];
    }),
  ).toEqual([false, false]);
  expect(sees(() => indexes.delete('eth1'))).toEqual([true, false]);
});
