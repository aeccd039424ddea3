import { describe, expect, it } from 'vitest';
import { deskRig } from './desk-rig.ts';

const nothing = () => undefined;

describe('the desk', () => {
  it('opens with what is in the vault, and closes however the work ends', async () => {
    const { desk, machine, door, keep } = await deskRig();
    await keep('current', 'factory');
    expect(await desk.using(machine, nothing, (bmc) => bmc.powerState())).toBe('on');
    expect(door.open).toBe(0);
    const failing = desk.using(machine, nothing, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(door.open).toBe(0);
  });

  it('touches nobody where the site records, and needs no password for that', async () => {
    const { desk, machine, door } = await deskRig({ mode: 'recorder' });
    const recorded: string[] = [];
    await desk.using(
      machine,
      (action) => recorded.push(action),
      (bmc) => bmc.powerCycle(),
    );
    expect(recorded).toEqual(['power-cycle']);
    expect(door.logins).toEqual([]);
  });

  it.each([
    ['disabled', 'node1: its site leaves BMCs alone (bmc_mode disabled)'],
    [null, 'node1: the machine belongs to no site'],
  ] as const)('opens nothing in mode %s', async (mode, message) => {
    const { desk, machine } = await deskRig({ mode });
    await expect(desk.open(machine, nothing)).rejects.toMatchObject({ code: 'bmc_off_limits', message });
  });

  it('opens nothing for a node that is removed: its BMC may belong to another one', async () => {
    const { desk, machine } = await deskRig();
    const removed = { ...machine, lifecycle: { ...machine.lifecycle, state: 'removed' } } as const;
    await expect(desk.open(removed, nothing)).rejects.toMatchObject({ message: 'node1: the node is removed' });
  });

  it('opens nothing for a machine without a BMC', async () => {
    const { desk, machine } = await deskRig();
    const without = { ...machine, spec: { ...machine.spec, bmc: null } };
    expect(desk.standing(without)).toEqual({ kind: 'absent', reason: 'no BMC is declared for it' });
    await expect(desk.open(without, nothing)).rejects.toMatchObject({ code: 'bmc_off_limits' });
  });
});

describe('a change of the password that was cut short', () => {
  it.each([
    ['before the BMC heard of it', 'old', { current: 'old', pending: null }],
    ['after the BMC took it', 'new', { current: 'new', pending: null }],
  ])('%s is settled by the next opening, once', async (_when, inForce, expected) => {
    const { desk, machine, door, keep, held, audited } = await deskRig();
    await keep('current', 'old');
    await keep('pending', 'new');
    door.password = inForce;
    const opening = () => desk.using(machine, nothing, (bmc) => bmc.powerState());
    expect(await Promise.all([opening(), opening(), opening()])).toEqual(['on', 'on', 'on']);
    expect(await held()).toEqual(expected);
    expect((await audited()).filter((action) => action === 'bmc.rotation-settled')).toHaveLength(1);
    expect(door.logins.filter((password) => password !== inForce).length).toBeLessThanOrEqual(1);
    expect(door.open).toBe(0);
  });

  it('leaves both where neither is good, and says so', async () => {
    const { desk, machine, door, keep, held } = await deskRig();
    await keep('current', 'old');
    await keep('pending', 'new');
    await expect(desk.open(machine, nothing)).rejects.toMatchObject({
      failure: 'authentication',
      message: expect.stringContaining('cut short'),
    });
    expect(await held()).toEqual({ current: 'old', pending: 'new' });
    expect(door.open).toBe(0);
  });

  it('leaves both where the BMC cannot be asked', async () => {
    const { desk, machine, door, hardware, keep, held } = await deskRig();
    await keep('current', 'old');
    await keep('pending', 'new');
    door.password = 'new';
    hardware.fails.set('powerState', 'unreachable');
    await expect(desk.open(machine, nothing)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(await held()).toEqual({ current: 'old', pending: 'new' });
  });
});
