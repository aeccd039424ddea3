import { expect, it } from 'vitest';
import { REMEMBERED_BOOTS } from '../../../appliance/store/bmc-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, address, NOW, newAudit } from '../samples.ts';

const [HERE, THERE] = [address('10.0.10.0', 50), address('10.0.10.0', 51)];
const [PIN, OTHER_PIN] = ['aa'.repeat(32), 'bb'.repeat(32)];
const ANVIL = { vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.10' };
const FORGOTTEN = newAudit('bmc.certificate-forgotten');

export function bmcMemoriesContract(engine: Engine): void {
  const opened = useStore(engine);

  it('stores the cipher suite of the last login by address', async () => {
    const { store } = opened();
    await store.rememberBmcSuite(HERE, 17);
    await store.rememberBmcSuite(THERE, 17);
    await store.rememberBmcSuite(HERE, 3);
    expect(await store.bmcPlaces()).toEqual([
      { address: HERE, certificate: null, suite: 3 },
      { address: THERE, certificate: null, suite: 17 },
    ]);
  });

  it('pins the first certificate of an address, and refuses another one', async () => {
    const { store } = opened();
    await store.rememberBmcSuite(HERE, 17);
    expect(await store.pinBmcCertificate(HERE, PIN)).toBe(true);
    expect(await store.pinBmcCertificate(HERE, PIN)).toBe(true);
    expect(await store.pinBmcCertificate(HERE, OTHER_PIN)).toBe(false);
    expect(await store.pinBmcCertificate(THERE, OTHER_PIN)).toBe(true);
    expect(await store.bmcPlaces()).toEqual([
      { address: HERE, certificate: PIN, suite: 17 },
      { address: THERE, certificate: OTHER_PIN, suite: null },
    ]);
  });

  it('deletes a pinned certificate once, with an audit entry', async () => {
    const { store } = opened();
    await store.pinBmcCertificate(HERE, PIN);
    expect(await store.forgetBmcCertificate(HERE, FORGOTTEN)).toBe(true);
    expect(await store.forgetBmcCertificate(HERE, FORGOTTEN)).toBe(false);
    expect(await store.auditEntries(0, 10)).toMatchObject([{ action: 'bmc.certificate-forgotten' }]);
    expect(await store.pinBmcCertificate(HERE, OTHER_PIN)).toBe(true);
  });

  it('counts boot methods that worked and that were ignored, by BMC model and method', async () => {
    const { store } = opened();
    const boot = (method: string, obeyed: boolean, at: number, firmware = ANVIL.firmware) =>
      store.countBoot({ ...ANVIL, firmware, method, obeyed, at });
    await boot('once-efi', false, NOW);
    await boot('once-efi', false, NOW + 1);
    await boot('once-legacy', true, NOW + 2);
    await boot('once-efi', true, NOW + 3);
    await boot('once-efi', true, NOW + 4, '1.11');
    expect(await store.bmcQuirks()).toEqual([
      { ...ANVIL, method: 'once-efi', worked: 1, ignored: 2, lastAt: NOW + 3 },
      { ...ANVIL, method: 'once-legacy', worked: 1, ignored: 0, lastAt: NOW + 2 },
      { ...ANVIL, firmware: '1.11', method: 'once-efi', worked: 1, ignored: 0, lastAt: NOW + 4 },
    ]);
  });

  it('stores the last boot times of a machine, the newest last', async () => {
    const { store } = opened();
    const [one, other] = [await addMachine(store, 1), await addMachine(store, 2)];
    const all = Array.from({ length: REMEMBERED_BOOTS + 3 }, (_, index) => 1000 + index);
    for (const took of all) await store.addBootTime(one.id, took);
    expect(await store.bootTimes(one.id)).toEqual(all.slice(3));
    expect(await store.bootTimes(other.id)).toEqual([]);
  });

  it('keeps one persistent boot override per machine until it is deleted, independent of the events', async () => {
    const { store } = opened();
    const [one, other] = [(await addMachine(store, 1)).id, (await addMachine(store, 2)).id];
    expect(await store.persistentBootOverrides()).toEqual([]);
    await store.setPersistentBootOverride({ machine: other, method: 'redfish-efi-persistent', setAt: NOW + 1 });
    await store.setPersistentBootOverride({ machine: one, method: 'ipmi-legacy-persistent', setAt: NOW });
    await store.setPersistentBootOverride({ machine: one, method: 'ipmi-efi-persistent', setAt: NOW });
    await store.trimEvents(NOW + 1_000_000);
    expect(await store.persistentBootOverrides()).toEqual([
      { machine: one, method: 'ipmi-efi-persistent', setAt: NOW },
      { machine: other, method: 'redfish-efi-persistent', setAt: NOW + 1 },
    ]);
    await store.deletePersistentBootOverride(one);
    await store.deletePersistentBootOverride(one);
    expect(await store.persistentBootOverrides()).toMatchObject([{ machine: other }]);
  });
}
