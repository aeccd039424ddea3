import { describe, expect, it } from 'vitest';
import { explained } from '../../../appliance/bmc/access/failure.ts';
import { KeyedMutex } from '../../../appliance/bmc/access/keyed-mutex.ts';
import { NodeBmcs } from '../../../appliance/bmc/access/node-bmcs.ts';
import { BmcError, type BmcFailure } from '../../../appliance/bmc/bmc-error.ts';
import { aMachine } from '../../machines/machines.ts';
import { brokenStore } from '../../store/broken-store.ts';
import { BY, openerRig } from './opener-rig.ts';

const OFF = { what: 'power', details: { action: 'off' } } as const;

describe('a BMC request', () => {
  it('is in the audit log before it is executed, and in the trail with its outcome', async () => {
    const { nodes, machine, store, hardware, keep } = await openerRig();
    await keep('current', 'factory');
    const { mode } = await nodes.act(machine, BY, OFF, async (bmc) => {
      expect((await store.auditEntries(0, 10)).at(-1)).toMatchObject({
        action: 'bmc.power',
        actor: 'token:alice',
        target: 'node:node1',
        correlationId: 'corr-7',
        after: { action: 'off' },
      });
      await bmc.powerOff();
    });
    expect([mode, hardware.power]).toEqual(['real', 'off']);
    expect(await store.events({ limit: 10 })).toMatchObject([
      { kind: 'bmc.done', actor: 'token:alice', correlationId: 'corr-7', data: { what: 'power', action: 'off' } },
    ]);
  });

  it('is not executed when it cannot be audited', async () => {
    const { opener, consoles, machine, hardware, keep } = await openerRig();
    await keep('current', 'factory');
    const nodes = new NodeBmcs({ opener, consoles, store: brokenStore(), now: () => 0 });
    await expect(nodes.act(machine, BY, OFF, (bmc) => bmc.powerOff())).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    expect(hardware.power).toBe('on');
  });

  it('that fails is reported in the trail and to the caller', async () => {
    const { nodes, machine, store, hardware, keep } = await openerRig();
    await keep('current', 'factory');
    hardware.fails.set('powerOff', 'refused');
    await expect(nodes.act(machine, BY, OFF, (bmc) => bmc.powerOff())).rejects.toMatchObject({
      code: 'bmc_failed',
      message: 'node1: bmc fails: refused',
    });
    expect(await store.events({ limit: 10 })).toMatchObject([
      { kind: 'bmc.failed', data: { what: 'power', action: 'off', reason: 'node1: bmc fails: refused' } },
    ]);
  });

  it('is only recorded in recorder mode', async () => {
    const { nodes, machine, store, hardware } = await openerRig({ mode: 'recorder' });
    expect(await nodes.act(machine, BY, OFF, (bmc) => bmc.powerOff())).toMatchObject({ mode: 'recorder' });
    expect(hardware.power).toBe('on');
    expect(await store.events({ limit: 10 })).toMatchObject([
      { kind: 'bmc.recorded', data: { action: 'power-off', address: '10.2.10.1' } },
    ]);
  });

  it('is not audited when the BMC may not be used', async () => {
    const { nodes, machine, audited } = await openerRig({ mode: 'disabled' });
    await expect(nodes.act(machine, BY, OFF, (bmc) => bmc.powerOff())).rejects.toMatchObject({
      code: 'bmc_off_limits',
    });
    expect(await audited()).toEqual([]);
  });
});

describe('a BMC query', () => {
  it('records nothing, also when it fails', async () => {
    const { nodes, machine, store, hardware, keep } = await openerRig();
    await keep('current', 'factory');
    expect(await nodes.ask(machine, (bmc) => bmc.powerState())).toEqual({ mode: 'real', result: 'on' });
    hardware.fails.set('powerState', 'vanished');
    await expect(nodes.ask(machine, (bmc) => bmc.powerState())).rejects.toMatchObject({ code: 'bmc_unreachable' });
    expect(await store.events({ limit: 10 })).toEqual([]);
    expect(await store.auditEntries(0, 10)).toHaveLength(1);
  });
});

describe('a console', () => {
  it('keeps its BMC open until it is closed, and the trail has the reason', async () => {
    const { nodes, machine, store, bmcLogin, hardware, keep, clock } = await openerRig();
    await keep('current', 'factory');
    const opened = await nodes.openConsole(machine, BY, { steal: true, readOnly: false });
    expect([bmcLogin.open, hardware.consoles]).toEqual([1, 1]);
    await opened.closed('the viewer left');
    // The session outlives its last reader for a moment.
    await clock.advance(3000);
    expect([bmcLogin.open, hardware.consoles]).toEqual([0, 0]);
    expect(await store.events({ limit: 10 })).toMatchObject([
      { kind: 'bmc.done', data: { what: 'console', steal: true } },
      { kind: 'bmc.console-closed', data: { because: 'the viewer left' } },
    ]);
  });
});

describe('a failure of a BMC', () => {
  const CODES: readonly (readonly [BmcFailure, string])[] = [
    ['unreachable', 'bmc_unreachable'],
    ['vanished', 'bmc_unreachable'],
    ['authentication', 'bmc_login_failed'],
    ['privilege', 'bmc_login_failed'],
    ['busy', 'bmc_busy'],
    ['untrusted', 'bmc_untrusted'],
    ['unsupported', 'bmc_unsupported'],
    ['refused', 'bmc_failed'],
    ['locked-out', 'bmc_locked_out'],
  ];

  it.each(CODES)('%s becomes %s, with the node and the message of the BMC', (failure, code) => {
    const error = explained(new BmcError(failure, 'BMC 10.0.10.50: no'), aMachine({}));
    expect(error).toMatchObject({ code, message: 'node01: BMC 10.0.10.50: no' });
  });

  it('is the only error that is converted', () => {
    const other = new Error('x');
    expect(explained(other, aMachine({}))).toBe(other);
  });
});

describe('a keyed mutex', () => {
  it('serializes work per key, also after a failure, and runs different keys concurrently', async () => {
    const mutex = new KeyedMutex<string>();
    const order: string[] = [];
    const gate = Promise.withResolvers<void>();
    const first = mutex.run('a', async () => {
      await gate.promise;
      order.push('first');
      throw new Error('no');
    });
    const second = mutex.run('a', async () => order.push('second'));
    await mutex.run('b', async () => order.push('beside'));
    gate.resolve();
    await expect(first).rejects.toThrow('no');
    await second;
    expect(order).toEqual(['beside', 'first', 'second']);
  });
});
