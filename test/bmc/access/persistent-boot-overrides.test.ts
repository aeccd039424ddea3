import { describe, expect, it, onTestFinished } from 'vitest';
import { openBmcService } from '../../../appliance/bmc/access/bmc-service.ts';
import { PersistentBootOverrides } from '../../../appliance/bmc/access/persistent-boot-overrides.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { BmcMode } from '../../../appliance/domain/network.ts';
import { NoteBoard } from '../../trail/note-board.ts';
import { quietConsoles } from '../console/quiet-consoles.ts';
import { openerRig } from './opener-rig.ts';

const CHOSEN = { device: 'network', persistent: true, firmware: 'efi' } as const;

/** After a process that set a persistent override crashed. */
async function afterACrash(changes: { mode?: BmcMode; machine?: (machine: Machine) => Machine | null } = {}) {
  const { mode = 'real', machine: as = (machine) => machine } = changes;
  const rig = await openerRig({ mode, driver: 'ipmi+redfish' });
  const { store, opener, machine, clock, hardware, keep } = rig;
  await keep('current', 'factory');
  hardware.boot = CHOSEN;
  const set = (method: string) => store.setPersistentBootOverride({ machine: machine.id, method, setAt: clock.now() });
  await set('ipmi-efi-persistent');
  const overrides = new PersistentBootOverrides({ opener, store, now: () => clock.now(), current: () => as(machine) });
  const removeAll = async () => clock.until((await overrides.removeAll()).finished);
  const trail = async () => (await store.events({ machine: machine.id, limit: 100 })).map(({ kind }) => kind);
  return { ...rig, set, overrides, removeAll, trail };
}

describe('a persistent boot override that a crash left behind', () => {
  it('is removed at the next start, and only once', async () => {
    const { removeAll, hardware, trail, store, machine } = await afterACrash();
    await removeAll();
    expect(hardware.boot.device).toBe('none');
    expect(await trail()).toEqual(['bmc.boot-undone']);
    expect((await store.events({ machine: machine.id, limit: 10 })).at(-1)?.data).toMatchObject({
      words: 'the appliance stopped in the middle of a boot; the boot override was removed',
    });
    hardware.boot = CHOSEN;
    await removeAll();
    expect(hardware.boot).toEqual(CHOSEN);
  });

  it('is removed also after retention has trimmed every event', async () => {
    const { removeAll, hardware, store, clock } = await afterACrash();
    await store.trimEvents(clock.now() + 1);
    await removeAll();
    expect(hardware.boot.device).toBe('none');
  });

  it('is kept when an operator has set another since', async () => {
    const { removeAll, hardware, nodes, clock, machine } = await afterACrash();
    const choice = { device: 'disk', persistent: true, firmware: 'efi' } as const;
    const by = { actor: 'token:alice', correlationId: null };
    await clock.until(nodes.act(machine, by, { what: 'bootdev', details: choice }, (bmc) => bmc.setBoot(choice)));
    await removeAll();
    expect(hardware.boot).toEqual(choice);
  });

  it('is removed over the protocol that set it', async () => {
    const { removeAll, set, bmcLogin } = await afterACrash();
    await set('redfish-efi-persistent');
    await removeAll();
    expect(bmcLogin.drivers).toEqual(['redfish']);
  });

  it('is retried at every start until its BMC is reachable', async () => {
    const { removeAll, hardware, trail } = await afterACrash();
    hardware.fails.set('setBoot', 'unreachable');
    await removeAll();
    expect(await trail()).toEqual(['bmc.boot-not-undone']);
    hardware.fails.clear();
    await removeAll();
    expect((await trail()).at(-1)).toBe('bmc.boot-undone');
  });

  it('delays other uses of the BMC until it is removed', async () => {
    const { overrides, machine, hardware } = await afterACrash();
    const { finished } = await overrides.removeAll();
    await overrides.settled(machine);
    expect(hardware.boot.device).toBe('none');
    await finished;
  });

  it('is removed by the service before any effect of the machine runs', async () => {
    const { store, vault, clock, machine, bmcLogin, hardware } = await afterACrash();
    const consoles = await quietConsoles(clock);
    onTestFinished(consoles.remove);
    const service = await openBmcService({
      store,
      vault,
      passwords: { folder: '/nowhere/passwords', state: '/nowhere/state' },
      clock,
      trail: new NoteBoard(),
      bmcMode: () => 'real',
      current: () => machine,
      onChange: () => () => undefined,
      ...consoles.settings,
      scanned: [],
      nodeAtBmc: () => null,
      openDriver: (_machine, _address, given) => bmcLogin.bmc(hardware, given),
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const found = service.effects.using(
      machine,
      () => undefined,
      async () => hardware.boot.device,
    );
    expect(await clock.until(found)).toBe('none');
    await service.stop();
  });

  it.each([
    ['whose site is in recorder mode', { mode: 'recorder' }],
    ['that was removed', { machine: () => null }],
  ] as const)('is not removed at a machine %s', async (_which, changes) => {
    const { removeAll, hardware, bmcLogin } = await afterACrash(changes);
    await removeAll();
    expect([hardware.boot, bmcLogin.logins]).toEqual([CHOSEN, []]);
  });
});
