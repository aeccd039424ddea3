import { describe, expect, it } from 'vitest';
import { openBmcService } from '../../../appliance/bmc/access/bmc-service.ts';
import { NodeBmcs } from '../../../appliance/bmc/access/node-bmcs.ts';
import { PersistentBootOverrides } from '../../../appliance/bmc/access/persistent-boot-overrides.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { BmcMode } from '../../../appliance/domain/network.ts';
import { NoteBoard } from '../../trail/note-board.ts';
import { deskRig } from './desk-rig.ts';

const CHOSEN = { device: 'network', persistent: true, firmware: 'efi' } as const;

/** A process that set a lasting choice, and was gone. */
async function afterACrash(changes: { mode?: BmcMode; machine?: (machine: Machine) => Machine | null } = {}) {
  const { mode = 'real', machine: as = (machine) => machine } = changes;
  const rig = await deskRig({ mode, driver: 'ipmi+redfish' });
  const { store, desk, machine, clock, hardware, keep } = rig;
  await keep('current', 'factory');
  hardware.boot = CHOSEN;
  const set = (method: string) => store.setPersistentBootOverride({ machine: machine.id, method, setAt: clock.now() });
  await set('ipmi-efi-persistent');
  const lasting = new PersistentBootOverrides({ desk, store, now: () => clock.now(), current: () => as(machine) });
  const takeBack = async () => clock.until((await lasting.takeBack()).over);
  const trail = async () => (await store.events({ machine: machine.id, limit: 100 })).map(({ kind }) => kind);
  return { ...rig, set, lasting, takeBack, trail };
}

describe('a persistent boot override that a crash left behind', () => {
  it('is taken back at the next start, and only once', async () => {
    const { takeBack, hardware, trail, store, machine } = await afterACrash();
    await takeBack();
    expect(hardware.boot.device).toBe('none');
    expect(await trail()).toEqual(['bmc.boot-undone']);
    expect((await store.events({ machine: machine.id, limit: 10 })).at(-1)?.data).toMatchObject({
      words: 'the appliance stopped in the middle of a boot; the boot choice was taken back',
    });
    hardware.boot = CHOSEN;
    await takeBack();
    expect(hardware.boot).toEqual(CHOSEN);
  });

  it('is undone also after retention has trimmed every event', async () => {
    const { takeBack, hardware, store, clock } = await afterACrash();
    await store.trimEvents(clock.now() + 1);
    await takeBack();
    expect(hardware.boot.device).toBe('none');
  });

  it('stays as an operator has set it since', async () => {
    const { takeBack, hardware, store, desk, clock, machine } = await afterACrash();
    const nodes = new NodeBmcs({ desk, store, now: () => clock.now() });
    const choice = { device: 'disk', persistent: true, firmware: 'efi' } as const;
    const by = { actor: 'token:alice', correlationId: null };
    await clock.until(nodes.act(machine, by, { what: 'bootdev', details: choice }, (bmc) => bmc.setBoot(choice)));
    await takeBack();
    expect(hardware.boot).toEqual(choice);
  });

  it('is taken back over the protocol that it was set in', async () => {
    const { takeBack, set, door } = await afterACrash();
    await set('redfish-efi-persistent');
    await takeBack();
    expect(door.drivers).toEqual(['redfish']);
  });

  it('is tried again at every start until its BMC is there', async () => {
    const { takeBack, hardware, trail } = await afterACrash();
    hardware.fails.set('setBoot', 'unreachable');
    await takeBack();
    expect(await trail()).toEqual(['bmc.boot-not-undone']);
    hardware.fails.clear();
    await takeBack();
    expect((await trail()).at(-1)).toBe('bmc.boot-undone');
  });

  it('keeps others from telling the BMC something that would be taken back too', async () => {
    const { lasting, machine, hardware } = await afterACrash();
    const { over } = await lasting.takeBack();
    await lasting.settled(machine);
    expect(hardware.boot.device).toBe('none');
    await over;
  });

  it('is taken back by the service before the machine’s life goes on', async () => {
    const { store, vault, clock, machine, door, hardware } = await afterACrash();
    const service = await openBmcService({
      store,
      vault,
      clock,
      trail: new NoteBoard(),
      bmcMode: () => 'real',
      current: () => machine,
      scanned: [],
      nodeAtBmc: () => null,
      openDriver: (_machine, _door, given) => door.bmc(hardware, given),
      log: { info: () => undefined, warn: () => undefined, error: () => undefined },
    });
    const found = service.effects.using(
      machine,
      () => undefined,
      async () => hardware.boot.device,
    );
    expect(await clock.until(found)).toBe('none');
    service.stop();
  });

  it.each([
    ['whose site records', { mode: 'recorder' }],
    ['that was removed', { machine: () => null }],
  ] as const)('is left alone at a machine %s', async (_which, changes) => {
    const { takeBack, hardware, door } = await afterACrash(changes);
    await takeBack();
    expect([hardware.boot, door.logins]).toEqual([CHOSEN, []]);
  });
});
