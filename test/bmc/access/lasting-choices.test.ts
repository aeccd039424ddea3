import { describe, expect, it } from 'vitest';
import { openBmcService } from '../../../appliance/bmc/access/bmc-service.ts';
import { lastingChoice, PersistentBootOverrides } from '../../../appliance/bmc/access/persistent-boot-overrides.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { BmcMode } from '../../../appliance/domain/network.ts';
import { newEvent } from '../../store/samples.ts';
import { NoteBoard } from '../../trail/note-board.ts';
import { deskRig } from './desk-rig.ts';

const LASTING = { kind: 'bmc.boot-lasting', data: { method: 'ipmi-efi-persistent', words: 'set' } };
const CHOSEN = { device: 'network', persistent: true, firmware: 'efi' } as const;

/** A process that set a lasting choice, and was gone. */
async function afterACrash(changes: { mode?: BmcMode; machine?: (machine: Machine) => Machine | null } = {}) {
  const { mode = 'real', machine: as = (machine) => machine } = changes;
  const rig = await deskRig({ mode, driver: 'ipmi+redfish' });
  const { store, desk, machine, clock, hardware, keep } = rig;
  await keep('current', 'factory');
  hardware.boot = CHOSEN;
  const write = (kind: string, data: Record<string, string>) =>
    store.appendEvents([newEvent(kind, { machine: machine.id, data })]);
  await write(LASTING.kind, LASTING.data);
  const lasting = new PersistentBootOverrides({ desk, store, now: () => clock.now(), current: () => as(machine) });
  const takeBack = async () => clock.until((await lasting.takeBack()).over);
  const trail = async () => (await store.events({ machine: machine.id, limit: 100 })).map(({ kind }) => kind);
  return { ...rig, write, lasting, takeBack, trail };
}

describe('a lasting boot choice that a crash left behind', () => {
  it('is taken back at the next start, and only once', async () => {
    const { takeBack, hardware, trail, store, machine } = await afterACrash();
    await takeBack();
    expect(hardware.boot.device).toBe('none');
    expect(await trail()).toEqual(['bmc.boot-lasting', 'bmc.boot-undone']);
    expect((await store.events({ machine: machine.id, limit: 10 })).at(-1)?.data).toMatchObject({
      words: 'the appliance stopped in the middle of a boot; the boot choice was taken back',
    });
    hardware.boot = CHOSEN;
    await takeBack();
    expect(hardware.boot).toEqual(CHOSEN);
  });

  it('is taken back over the protocol that it was set in', async () => {
    const { takeBack, write, door } = await afterACrash();
    await write('bmc.boot-lasting', { method: 'redfish-efi-persistent' });
    await takeBack();
    expect(door.drivers).toEqual(['redfish']);
  });

  it('is tried again at every start until its BMC is there', async () => {
    const { takeBack, hardware, trail } = await afterACrash();
    hardware.fails.set('setBoot', 'unreachable');
    await takeBack();
    expect(await trail()).toEqual(['bmc.boot-lasting', 'bmc.boot-not-undone']);
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

describe('whether a lasting choice holds', () => {
  const undone = { kind: 'bmc.boot-undone', data: {} };
  const byHand = { kind: 'bmc.done', data: { what: 'bootdev', device: 'disk' } };
  const other = { kind: 'bmc.done', data: { what: 'power', action: 'on' } };

  it.each([
    ['nothing was set', [other], null],
    ['it was set', [LASTING, other], 'ipmi-efi-persistent'],
    ['it was set and taken back', [LASTING, undone, other], null],
    ['it was set again', [LASTING, undone, LASTING], 'ipmi-efi-persistent'],
    ['a person has set something since', [LASTING, byHand], null],
    ['it could not be taken back', [LASTING, { kind: 'bmc.boot-not-undone', data: {} }], 'ipmi-efi-persistent'],
  ])('is told by the trail: %s', (_what, events, method) => {
    expect(lastingChoice(events)).toBe(method);
  });
});
