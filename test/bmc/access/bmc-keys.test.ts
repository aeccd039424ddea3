import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BmcCredentials } from '../../../appliance/bmc/access/bmc-credentials.ts';
import { BmcMemory } from '../../../appliance/bmc/access/memory.ts';
import { brokenStore } from '../../store/broken-store.ts';
import { address, newAudit } from '../../store/samples.ts';
import { BY, deskRig, login } from './desk-rig.ts';

describe('credentials that somebody gives', () => {
  it('are tried first, kept sealed and audited without the password', async () => {
    const { keys, machine, store, held } = await deskRig();
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

  it('are not kept when the BMC does not take them', async () => {
    const { keys, machine, held, audited } = await deskRig();
    await expect(keys.set(machine, BY, login('wrong'), true)).rejects.toMatchObject({
      code: 'bmc_login_failed',
      message: 'node1: BMC 10.2.10.1: wrong user or password',
    });
    expect(await held()).toEqual({ current: null, pending: null });
    expect(await audited()).toEqual([]);
  });

  it('are not kept for a node without a BMC: nobody could say whom they may be shown to', async () => {
    const { keys, machine } = await deskRig();
    const without = { ...machine, spec: { ...machine.spec, bmc: null } };
    await expect(keys.set(without, BY, login('factory'), false)).rejects.toMatchObject({ code: 'bmc_off_limits' });
  });

  it.each([
    ['somebody says so', 'real', false],
    ['the site records', 'recorder', true],
    ['the site leaves BMCs alone', 'disabled', true],
  ] as const)('are kept untried where %s', async (_why, mode, check) => {
    const { keys, machine, door, held } = await deskRig({ mode });
    expect(await keys.set(machine, BY, login('anything'), check)).toEqual({ checked: false });
    expect((await held()).current).toBe('anything');
    expect(door.logins).toEqual([]);
  });
});

describe('rotating a password', () => {
  it('ends with a random one that the BMC takes and the vault has', async () => {
    const { keys, machine, door, clock, keep, held, audited } = await deskRig();
    await keep('current', 'factory');
    const { mode, result } = await clock.until(keys.rotate(machine, BY));
    expect([mode, result]).toEqual(['real', { username: 'ADMIN' }]);
    expect(door.password).toMatch(/^[A-Za-z][\x21-\x7e]{15}$/);
    expect(await held()).toEqual({ current: door.password, pending: null });
    expect((await audited()).slice(1)).toEqual(['bmc.rotate', 'bmc.rotation-begun', 'bmc.rotated']);
    expect(door.open).toBe(0);
  });

  it('goes back to the old one when the BMC cuts the new one off', async () => {
    const { keys, machine, door, clock, keep, held, audited, store } = await deskRig();
    await keep('current', 'factory');
    door.takes = (given) => given.slice(0, 8);
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({
      code: 'bmc_failed',
      message: expect.stringMatching(/^node1: .*; the old password is in force again$/),
    });
    // It cuts at eight, and the old one has seven.
    expect([door.password, await held()]).toEqual(['factory', { current: 'factory', pending: null }]);
    expect((await audited()).at(-1)).toBe('bmc.rotation-undone');
    expect((await store.events({ limit: 10 })).map(({ kind }) => kind)).toEqual(['bmc.failed']);
  });

  it('does not begin with a password that is wrong already', async () => {
    const { keys, machine, clock, keep, held } = await deskRig();
    await keep('current', 'wrong');
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({ code: 'bmc_login_failed' });
    expect(await held()).toEqual({ current: 'wrong', pending: null });
  });

  it('tells the BMC nothing that is not on disk', async () => {
    const { desk, nodes, vault, memory, machine, door, clock, keep } = await deskRig();
    await keep('current', 'factory');
    const keys = new BmcCredentials({ desk, nodes, vault, memory, clock, now: () => 0, store: brokenStore() });
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(door.password).toBe('factory');
  });

  it('keeps both when the store fails after the BMC took the new one, and the next use settles it', async () => {
    const { desk, nodes, store, vault, memory, machine, door, clock, keep, held } = await deskRig();
    await keep('current', 'factory');
    const failing = {
      setBmcCredentials: store.setBmcCredentials,
      setPendingBmcCredentials: store.setPendingBmcCredentials,
      confirmPendingBmcCredentials: brokenStore().confirmPendingBmcCredentials,
      dropPendingBmcCredentials: store.dropPendingBmcCredentials,
    };
    const keys = new BmcCredentials({ desk, nodes, vault, memory, clock, now: () => 0, store: failing });
    await expect(clock.until(keys.rotate(machine, BY))).rejects.toMatchObject({ code: 'store_unavailable' });
    expect(await held()).toEqual({ current: 'factory', pending: door.password });
    expect(door.password).not.toBe('factory');
    expect(
      await desk.using(
        machine,
        () => undefined,
        (bmc) => bmc.powerState(),
      ),
    ).toBe('on');
    expect(await held()).toEqual({ current: door.password, pending: null });
  });

  it('is not disturbed by somebody who opens the BMC or sets credentials meanwhile', async () => {
    const { keys, desk, machine, door, clock, keep, held } = await deskRig();
    await keep('current', 'factory');
    const rotating = keys.rotate(machine, BY);
    while ((await held()).pending === null) await setImmediate();
    const opening = desk.using(
      machine,
      () => undefined,
      (bmc) => bmc.powerState(),
    );
    const setting = keys.set(machine, BY, login('factory'), true).catch((error: Error) => error);
    await clock.until(Promise.all([rotating, opening, setting]));
    expect(await opening).toBe('on');
    expect(await setting).toMatchObject({ code: 'bmc_login_failed' });
    expect(await held()).toEqual({ current: door.password, pending: null });
  });

  it('is only written down where the site records', async () => {
    const { keys, machine, door, store, held } = await deskRig({ mode: 'recorder' });
    expect((await keys.rotate(machine, BY)).mode).toBe('recorder');
    expect(door.logins).toEqual([]);
    expect(await held()).toEqual({ current: null, pending: null });
    expect(await store.events({ limit: 10 })).toMatchObject([
      { kind: 'bmc.recorded', data: { what: 'rotate', action: 'set-own-password' } },
    ]);
  });
});

describe('a certificate that is to be forgotten', () => {
  it('is forgotten with an audit entry, and a second time that is a conflict', async () => {
    const { keys, machine, memory, audited } = await deskRig();
    await memory.remember(address('10.2.10.0', 1), 'AA:BB');
    await keys.forgetCertificate(machine, BY);
    expect(memory.pinned('10.2.10.1')).toBeNull();
    expect(await audited()).toEqual(['bmc.certificate-forgotten']);
    await expect(keys.forgetCertificate(machine, BY)).rejects.toMatchObject({ code: 'conflict' });
  });
});

describe('what drivers remember', () => {
  it('is there again after a restart', async () => {
    const { memory, store } = await deskRig();
    memory.rememberSuite('10.2.10.1', 17);
    await memory.remember('10.2.10.1', 'AA:BB');
    const again = await BmcMemory.open(store, { warn: () => undefined });
    expect([again.suite('10.2.10.1'), again.pinned('10.2.10.1')]).toEqual([17, 'AA:BB']);
    expect([again.suite('10.2.10.2'), again.pinned('10.2.10.2')]).toEqual([null, null]);
  });

  it('never replaces a certificate, also one that another process has pinned', async () => {
    const { memory, store } = await deskRig();
    await store.pinBmcCertificate(address('10.2.10.0', 1), 'AA:BB');
    await expect(memory.remember('10.2.10.1', 'CC:DD')).rejects.toThrow('another certificate');
    expect(await store.forgetBmcCertificate(address('10.2.10.0', 1), newAudit('x'))).toBe(true);
  });
});
