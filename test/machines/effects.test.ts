import { describe, expect, it } from 'vitest';
import { BmcError } from '../../appliance/bmc/bmc-error.ts';
import type { EffectId, EffectKind } from '../../appliance/domain/effect.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';
import type { NewEvent } from '../../appliance/domain/event.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import type { BmcEndpoint, Machine } from '../../appliance/domain/machine.ts';
import type { BmcMode } from '../../appliance/domain/network.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { effectHandlers } from '../../appliance/machines/effects.ts';
import { FakeMachine, fakeBmc } from '../bmc/fake-bmc.ts';
import { bmcAccess } from './bmc-access.ts';
import { aLife, aMachine, anIntent, machineId, T0 } from './machines.ts';

const NOW = T0 + MINUTE;
const BMC: BmcEndpoint = {
  address: mustParse(parseIpv4('10.0.10.50')),
  driver: 'ipmi',
  username: null,
  passwordFile: null,
};

function aWorkshop({
  mode = 'recorder',
  real = {},
  unerased = false,
}: {
  mode?: BmcMode | null;
  real?: Parameters<typeof bmcAccess>[1];
  unerased?: boolean;
} = {}) {
  const recorded: NewEvent[] = [];
  const handlers = effectHandlers({
    store: {
      appendEvents: async (events) => void recorded.push(...events),
    },
    now: () => NOW,
    bmcs: bmcAccess(mode, real),
    mayReleaseUnerased: () => unerased,
  });
  const perform = (kind: EffectKind, machine: Machine) =>
    handlers[kind]({
      effect: {
        id: 'effect-1' as EffectId,
        machine: machine.id,
        kind,
        correlationId: 'corr-1',
        seq: 1,
        state: 'running',
        attempts: 1,
        notBefore: T0,
        lastError: null,
      },
      machine,
      correlationId: 'corr-1',
    });
  return { perform, recorded };
}

describe('effects through the BMC', () => {
  const withBmc = (lifecycle = aLife('commissioning')) => aMachine({ bmc: BMC, lifecycle });

  it.each([
    ['boot-from-network', ['boot-once-from-network', 'power-cycle']],
    ['boot-from-disk', ['boot-once-from-disk', 'power-cycle']],
    ['power-off', ['power-off']],
  ] as const)('%s is recorded where the site only records', async (kind, actions) => {
    const { events } = await aWorkshop().perform(kind, withBmc());
    expect(events).toEqual(
      actions.map((action) => ({
        at: NOW,
        kind: 'bmc.recorded',
        actor: 'appliance',
        machine: machineId(1),
        correlationId: 'corr-1',
        data: { effect: kind, action, address: '10.0.10.50' },
      })),
    );
  });

  it.each([
    ['disabled', /BMC access is disabled/],
    [null, /belongs to no site/],
  ] as const)('are skipped in mode %s, with a note for the operator', async (mode, reason) => {
    const { events } = await aWorkshop({ mode }).perform('boot-from-network', withBmc());
    const data = {
      effect: 'boot-from-network',
      reason: expect.stringMatching(reason),
      to_do: 'choose network boot once and power cycle the machine by hand',
    };
    expect(events).toEqual([expect.objectContaining({ kind: 'bmc.skipped', data })]);
  });

  it('are left to the operator for a machine without a BMC', async () => {
    const { events } = await aWorkshop().perform('boot-from-network', aMachine({}));
    const data = {
      effect: 'boot-from-network',
      to_do: 'choose network boot once and power cycle the machine by hand',
    };
    expect(events).toEqual([expect.objectContaining({ kind: 'bmc.absent', data })]);
  });

  it('are sent to the BMC in mode real, and its reply is sufficient for power-off', async () => {
    const machine = new FakeMachine();
    const { events } = await aWorkshop({ mode: 'real', real: { bmc: fakeBmc(machine) } }).perform(
      'power-off',
      withBmc(),
    );
    expect(machine.power).toBe('off');
    expect(events).toMatchObject([{ kind: 'bmc.done', data: { effect: 'power-off', address: '10.0.10.50' } }]);
  });

  it.each([
    ['unreachable', true],
    ['busy', true],
    ['locked-out', true],
    ['authentication', false],
    ['untrusted', false],
    ['contradiction', false],
  ] as const)('are retried after the failure %s: %s', async (failure, retryable) => {
    const machine = new FakeMachine();
    machine.fails.set('powerOff', failure);
    const { perform } = aWorkshop({ mode: 'real', real: { bmc: fakeBmc(machine) } });
    await expect(perform('power-off', withBmc())).rejects.toMatchObject({ name: 'EffectError', retryable });
  });

  it.each([
    [new ColdironError('bmc_login_failed', 'the password file is not there'), { retryable: false }],
    [new ColdironError('vault_unavailable', 'the key is gone'), { retryable: false }],
    [new ColdironError('store_unavailable', 'the disk is gone'), { code: 'store_unavailable' }],
  ])('fail when the BMC cannot be opened: %s', async (error, expected) => {
    const { perform } = aWorkshop({ mode: 'real', real: { using: () => Promise.reject(error) } });
    await expect(perform('power-off', withBmc())).rejects.toMatchObject({ message: error.message, ...expected });
  });

  it('do not restart a machine whose installation has begun', async () => {
    const intent = anIntent({ consumedAt: NOW });
    const machine = aMachine({ bmc: BMC, intent, lifecycle: aLife('deploying', { since: T0 }) });
    const { events } = await aWorkshop().perform('boot-from-network', machine);
    const reason = 'the machine has already booted from the network';
    expect(events).toMatchObject([{ kind: 'bmc.skipped', data: { reason } }]);
  });

  it('restart a machine whose intent was consumed before this state began', async () => {
    const intent = anIntent({ consumedAt: T0 });
    const machine = aMachine({ bmc: BMC, intent, lifecycle: aLife('commissioning', { since: NOW }) });
    const { events } = await aWorkshop().perform('boot-from-network', machine);
    expect(events.map((event) => event.kind)).toEqual(['bmc.recorded', 'bmc.recorded']);
  });
});

describe('a verified network boot', () => {
  const commissioned = aMachine({ bmc: BMC, lifecycle: aLife('commissioning') });
  const reports = [
    { kind: 'ignored', method: 'ipmi-efi-once', words: 'the BMC accepted the setting and the firmware ignored it' },
    { kind: 'obeyed', method: 'ipmi-legacy-once', words: 'it showed up after 40 s' },
  ] as const;

  it('records every attempt before the next one', async () => {
    const counts: number[] = [];
    const { perform, recorded } = aWorkshop({
      mode: 'real',
      real: {
        bootFromNetwork: async (_machine, report) => {
          for (const attempt of reports) {
            await report(attempt);
            counts.push(recorded.length);
          }
          return { kind: 'seen', method: 'ipmi-legacy-once', took: 40_000 };
        },
      },
    });
    expect(await perform('boot-from-network', commissioned)).toEqual({ events: [] });
    expect(counts).toEqual([1, 2]);
    expect(recorded).toMatchObject([
      {
        kind: 'bmc.boot-ignored',
        actor: 'appliance',
        correlationId: 'corr-1',
        data: {
          effect: 'boot-from-network',
          method: 'ipmi-efi-once',
          words: 'the BMC accepted the setting and the firmware ignored it',
        },
      },
      { kind: 'bmc.boot-obeyed', data: { method: 'ipmi-legacy-once' } },
    ]);
  });

  it('ends without a failure when the machine has left its state', async () => {
    const outcome = { kind: 'moved-on', reason: 'the machine is now failed' } as const;
    const { perform } = aWorkshop({ mode: 'real', real: { bootFromNetwork: async () => outcome } });
    const { events } = await perform('boot-from-network', commissioned);
    expect(events).toMatchObject([{ kind: 'bmc.broken-off', data: { reason: 'the machine is now failed' } }]);
  });

  it('is not repeated for a machine that was seen since the state began', async () => {
    const calls: number[] = [];
    const { perform } = aWorkshop({
      mode: 'real',
      real: { bootedSince: async (_machine, since) => calls.push(since) > 0 },
    });
    const { events } = await perform('boot-from-network', commissioned);
    const reason = 'the machine has already booted from the network';
    expect(events).toMatchObject([{ kind: 'bmc.skipped', data: { reason } }]);
    expect(calls).toEqual([commissioned.lifecycle.since]);
  });

  it('fails permanently with a list of every attempt', async () => {
    const bootFromNetwork = () => Promise.reject(new BmcError('contradiction', 'Tried: this and that'));
    const { perform } = aWorkshop({ mode: 'real', real: { bootFromNetwork } });
    await expect(perform('boot-from-network', commissioned)).rejects.toMatchObject({
      message: 'Tried: this and that',
      retryable: false,
    });
  });
});

describe('releasing without erasure', () => {
  const machine = aMachine({ lifecycle: aLife('releasing', { fallbackUsed: true, note: 'sda is write protected' }) });

  it('moves the machine on where that is allowed, with a note about the data', async () => {
    const outcome = await aWorkshop({ unerased: true }).perform('release-without-erase', machine);
    expect(outcome.leadsTo).toEqual({
      event: 'released-unerased',
      note: 'released without erasure: the disks keep their data',
    });
  });

  it('fails permanently where it is not, with the reason why erasing failed', async () => {
    await expect(aWorkshop().perform('release-without-erase', machine)).rejects.toMatchObject({
      message: 'not erased (sda is write protected), and releasing without erasure is not allowed here',
      retryable: false,
    });
  });
});
