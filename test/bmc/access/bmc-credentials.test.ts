import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BmcCredentials } from '../../../appliance/bmc/access/bmc-credentials.ts';
import { BmcMemory } from '../../../appliance/bmc/access/memory.ts';
import { brokenStore } from '../../store/broken-store.ts';
import { address, newAudit } from '../../store/samples.ts';
import { BY, login, openerRig } from './opener-rig.ts';

describe('credentials from an operator', () => {
  it('are tried first, saved sealed and audited without the password', async () => {
    const { keys, machine, store, held } = await openerRig();
    expect(await keys.set(machine, BY, login('factory'), true)).toEqual({ checked: true });
    expect(await held()).toEqual({ current: 'factory', pending: null });
    const [entry, ...more] = await store.auditEntries(0, 10);
    expect(more).toEqual([]);
    expect(entry).toMatchObject({
      actor: 'token:alice',
      action: 'bmc.credentials-set',
      target: 'node:node1',
      correlationId: 'corr-7',
      after: { username: 'ADMIN', checked: true },
    });
    expect(JSON.stringify(entry)).not.toContain('factory');
  });

  it('are not saved when the BMC rejects them', async () => {
    const { keys, machine, held, audited } = await openerRig();
    await expect(keys.set(machine, BY, login('wrong'), true)).rejects.toMatchObject({
      code: 'bmc_login_failed',
      message: 'node1: BMC 10.2.10.1: wrong user or password',
    });
    expect(await held()).toEqual({ current: null, pending: null });
    expect(await audited()).toEqual([]);
  });

  it('are rejected for a node without a BMC, because they are bound to its address', async () => {
    const { keys, machine } = await openerRig();
    const without = { ...machine, spec: { ...machine.spec, bmc: null } };
    await expect(keys.set(without, BY, login('factory'), false)).rejects.toMatchObject({ code: 'bmc_off_limits' });
  });

  it.each([
    ['the operator requests it', 'real', false],
    ['the site is in recorder mode', 'recorder', true],
    ['BMC access is disabled', 'disabled', true],
  ] as const)('are saved untried when %s', async (_why, mode, check) => {
    const { keys, machine, bmcLogin, held } = await openerRig({ mode });
    expect(await keys.set(machine, BY, login('anything'), check)).toEqual({ checked: false });
    expect((await held()).current).toBe('anything');
    expect(bmcLogin.logins).toEqual([]);
  });
});

describe('rotating a password', () => {
  it('ends with a random one that the BMC accepts and the vault contains', async () => {
    const { keys, machine, bmcLogin, clock, keep, held, audited } = await openerRig();
    await keep('current', 'factory');
    const { mode, result } = await clock.until(keys.rotate(machine, BY));
    expect([mode, result]).toEqual(['real', { username: 'ADMIN' }]);
    expect(bmcLogin.password).toMatch(/^[A-Za-z][\x21-\x7e]{15}$/);
    expect(await held()).toEqual({ current: bmcLogin.password, pending: null });
    expect((await audited()).slice(1)).toEqual(['bmc.rotate', 'bmc.rotation-begun', 'bmc.rotated']);
    expect(bmcLogin.open).toBe(0);
  });

  it('rolls back to the old one when the BMC truncates the new one', async () => {
    const { keys, machine, bmcLogin, clock, keep, held, audited, store } = await openerRig();
    await keep('current', 'factory');
    bmcLogin.takes = (given) => given.slice(0, 8);
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({
      code: 'bmc_failed',
      message: expect.stringMatching(/^node1: .*; the old password is in force again$/),
    });
    // It truncates at eight, and the old one has seven.
    expect([bmcLogin.password, await held()]).toEqual(['factory', { current: 'factory', pending: null }]);
    expect((await audited()).at(-1)).toBe('bmc.rotation-undone');
    expect((await store.events({ limit: 10 })).map(({ kind }) => kind)).toEqual(['bmc.failed']);
  });

  it('fails early when the current password is wrong', async () => {
    const { keys, machine, clock, keep, held } = await openerRig();
    await keep('current', 'wrong');
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({ code: 'bmc_login_failed' });
    expect(await held()).toEqual({ current: 'wrong', pending: null });
  });

  it('sends the BMC no password that is not on disk', async () => {
    const { opener, nodes, vault, memory, machine, bmcLogin, clock, keep } = await openerRig();
    await keep('current', 'factory');
    const keys = new BmcCredentials({ opener, nodes, vault, memory, clock, now: () => 0, store: brokenStore() });
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(bmcLogin.password).toBe('factory');
  });

  it('keeps both when the store fails after the BMC accepted the new one, and the next use settles it', async () => {
    const { opener, nodes, store, vault, memory, machine, bmcLogin, clock, keep, held } = await openerRig();
    await keep('current', 'factory');
    const failing = {
      setBmcCredentials: store.setBmcCredentials,
      setPendingBmcCredentials: store.setPendingBmcCredentials,
      confirmPendingBmcCredentials: brokenStore().confirmPendingBmcCredentials,
      dropPendingBmcCredentials: store.dropPendingBmcCredentials,
    };
    const keys = new BmcCredentials({ opener, nodes, vault, memory, clock, now: () => 0, store: failing });
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await held()).toEqual({ current: 'factory', pending: bmcLogin.password });
    expect(bmcLogin.password).not.toBe('factory');
    expect(
      await opener.using(
        machine,
        () => undefined,
        (bmc) => bmc.powerState(),
      ),
    ).toBe('on');
    expect(await held()).toEqual({ current: bmcLogin.password, pending: null });
  });

  it('is not disturbed by a concurrent open or change of credentials', async () => {
    const { keys, opener, machine, bmcLogin, clock, keep, held } = await openerRig();
    await keep('current', 'factory');
    const rotating = keys.rotate(machine, BY);
    while ((await held()).pending === null) await setImmediate();
    const opening = opener.using(
      machine,
      () => undefined,
      (bmc) => bmc.powerState(),
    );
    const setting = keys.set(machine, BY, login('factory'), true).catch((error: Error) => error);
    await clock.until(Promise.all([rotating, opening, setting]));
    expect(await opening).toBe('on');
    expect(await setting).toMatchObject({ code: 'bmc_login_failed' });
    expect(await held()).toEqual({ current: bmcLogin.password, pending: null });
  });

  it('is only recorded in recorder mode', async () => {
    const { keys, machine, bmcLogin, store, held } = await openerRig({ mode: 'recorder' });
    expect((await keys.rotate(machine, BY)).mode).toBe('recorder');
    expect(bmcLogin.logins).toEqual([]);
    expect(await held()).toEqual({ current: null, pending: null });
    expect(await store.events({ limit: 10 })).toMatchObject([
      { kind: 'bmc.recorded', data: { what: 'rotate', action: 'set-own-password' } },
    ]);
  });
});

describe('forgetting a certificate', () => {
  it('writes an audit entry, and is a conflict the second time', async () => {
    const { keys, machine, memory, audited } = await openerRig();
    await memory.remember(address('10.2.10.0', 1), 'AA:BB');
    await keys.forgetCertificate(machine, BY);
    expect(memory.pinned('10.2.10.1')).toBeNull();
    expect(await audited()).toEqual(['bmc.certificate-forgotten']);
    await expect(keys.forgetCertificate(machine, BY)).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('the memory of drivers', () => {
  it('survives a restart', async () => {
    const { memory, store } = await openerRig();
    memory.rememberSuite('10.2.10.1', 17);
    await memory.remember('10.2.10.1', 'AA:BB');
    const again = await BmcMemory.open(store, { warn: () => undefined });
    expect([again.suite('10.2.10.1'), again.pinned('10.2.10.1')]).toEqual([17, 'AA:BB']);
    expect([again.suite('10.2.10.2'), again.pinned('10.2.10.2')]).toEqual([null, null]);
  });

  it('never replaces a certificate, even one that another process pinned', async () => {
    const { memory, store } = await openerRig();
    await store.pinBmcCertificate(address('10.2.10.0', 1), 'AA:BB');
    await expect(memory.remember('10.2.10.1', 'CC:DD')).rejects.toThrow('another certificate');
    expect(await store.forgetBmcCertificate(address('10.2.10.0', 1), newAudit('x'))).toBe(true);
  });
});
