import { describe, expect, it } from 'vitest';
import { openerRig } from './opener-rig.ts';

const nothing = () => undefined;

describe('the opener', () => {
  it('opens with the login of the vault, and closes however the work ends', async () => {
    const { opener, machine, bmcLogin, keep } = await openerRig();
    await keep('current', 'factory');
    expect(await opener.using(machine, nothing, (bmc) => bmc.powerState())).toBe('on');
    expect(bmcLogin.open).toBe(0);
    const failing = opener.using(machine, nothing, () => Promise.reject(new Error('no')));
    await expect(failing).rejects.toThrow('no');
    expect(bmcLogin.open).toBe(0);
  });

  it('contacts no BMC in recorder mode, and needs no password for that', async () => {
    const { opener, machine, bmcLogin } = await openerRig({ mode: 'recorder' });
    const recorded: string[] = [];
    await opener.using(
      machine,
      (action) => recorded.push(action),
      (bmc) => bmc.powerCycle(),
    );
    expect(recorded).toEqual(['power-cycle']);
    expect(bmcLogin.logins).toEqual([]);
  });

  it.each([
    ['disabled', 'node1: BMC access is disabled for its site (bmc_mode disabled)'],
    [null, 'node1: the machine belongs to no site'],
  ] as const)('rejects in mode %s', async (mode, message) => {
    const { opener, machine } = await openerRig({ mode });
    await expect(opener.open(machine, nothing)).rejects.toMatchObject({ code: 'bmc_off_limits', message });
  });

  it('rejects for a removed node, whose BMC may belong to another one', async () => {
    const { opener, machine } = await openerRig();
    const removed = { ...machine, lifecycle: { ...machine.lifecycle, state: 'removed' } } as const;
    await expect(opener.open(removed, nothing)).rejects.toMatchObject({ message: 'node1: the node is removed' });
  });

  it('rejects for a machine without a BMC', async () => {
    const { opener, machine } = await openerRig();
    const without = { ...machine, spec: { ...machine.spec, bmc: null } };
    expect(opener.eligibility(without)).toEqual({ kind: 'absent', reason: 'no BMC is declared for it' });
    await expect(opener.open(without, nothing)).rejects.toMatchObject({ code: 'bmc_off_limits' });
  });
});

describe('an interrupted password change', () => {
  it.each([
    ['before the BMC got it', 'old', { current: 'old', pending: null }],
    ['after the BMC accepted it', 'new', { current: 'new', pending: null }],
  ])('%s is settled by the next opening, once', async (_when, inForce, expected) => {
    const { opener, machine, bmcLogin, keep, held, audited } = await openerRig();
    await keep('current', 'old');
    await keep('pending', 'new');
    bmcLogin.password = inForce;
    const opening = () => opener.using(machine, nothing, (bmc) => bmc.powerState());
    expect(await Promise.all([opening(), opening(), opening()])).toEqual(['on', 'on', 'on']);
    expect(await held()).toEqual(expected);
    expect((await audited()).filter((action) => action === 'bmc.rotation-settled')).toHaveLength(1);
    expect(bmcLogin.logins.filter((password) => password !== inForce).length).toBeLessThanOrEqual(1);
    expect(bmcLogin.open).toBe(0);
  });

  it('keeps both when neither works, and reports it', async () => {
    const { opener, machine, bmcLogin, keep, held } = await openerRig();
    await keep('current', 'old');
    await keep('pending', 'new');
    await expect(opener.open(machine, nothing)).rejects.toMatchObject({
      failure: 'authentication',
      message: expect.stringContaining('interrupted'),
    });
    expect(await held()).toEqual({ current: 'old', pending: 'new' });
    expect(bmcLogin.open).toBe(0);
  });

  it('keeps both when the BMC is unreachable', async () => {
    const { opener, machine, bmcLogin, hardware, keep, held } = await openerRig();
    await keep('current', 'old');
    await keep('pending', 'new');
    bmcLogin.password = 'new';
    hardware.fails.set('powerState', 'unreachable');
    await expect(opener.open(machine, nothing)).rejects.toMatchObject({ failure: 'unreachable' });
    expect(await held()).toEqual({ current: 'old', pending: 'new' });
  });
});
