import { describe, expect, it } from 'vitest';
import type { Bmc } from '../../appliance/bmc/bmc.ts';
import { BmcError } from '../../appliance/bmc/bmc-error.ts';
import { pause } from '../../appliance/bmc/clock.ts';
import { BmcGates, GATE_SETTINGS, type GateSettings } from '../../appliance/bmc/gates.ts';
import { paced } from '../../appliance/bmc/paced.ts';
import { MINUTE, SECOND } from '../../appliance/domain/instant.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { FakeMachine, fakeBmc } from './fake-bmc.ts';
import { VirtualClock } from './virtual-clock.ts';

const T0 = Date.UTC(2026, 0, 1);

function rig(settings: Partial<GateSettings> = {}) {
  const clock = new VirtualClock(T0);
  const gates = new BmcGates(clock, { ...GATE_SETTINGS, ...settings });
  const spans: { address: string; verb: string; from: number; to: number }[] = [];
  /** Every verb takes three seconds. */
  const driver = (address: string, credential = 'mark'): Bmc => {
    const slow = async (verb: string): Promise<void> => {
      const from = (clock.now() - T0) / SECOND;
      await pause(clock, 3 * SECOND);
      spans.push({ address, verb, from, to: (clock.now() - T0) / SECOND });
    };
    const bmc: Bmc = {
      ...fakeBmc(new FakeMachine()),
      powerState: async () => {
        await slow('powerState');
        return 'on';
      },
      powerOn: () => slow('powerOn'),
      powerOff: () => slow('powerOff'),
    };
    return paced(bmc, gates.gate(address), credential);
  };
  return { clock, gates, driver, spans };
}

describe('a paced BMC', () => {
  it('is asked one thing at a time, through however many drivers', async () => {
    const { clock, driver, spans } = rig();
    await clock.until(Promise.all([driver('a').powerState(), driver('a').powerState(), driver('b').powerState()]));
    expect(spans.map(({ address, from, to }) => `${address} ${from}-${to}`)).toEqual(['a 0-3', 'b 0-3', 'a 3-6']);
  });

  it('rests between two changes, and answers questions meanwhile', async () => {
    const { clock, driver, spans } = rig({ restAfterChange: 5 * SECOND });
    const bmc = driver('a');
    await clock.until(Promise.all([bmc.powerOff(), bmc.powerState(), bmc.powerOn()]));
    expect(spans.map(({ verb, from }) => `${verb} at ${from}`)).toEqual([
      'powerOff at 0',
      'powerState at 3',
      'powerOn at 8',
    ]);
  });

  it('shares the whole fleet with a limited number of others, in the order they came', async () => {
    const { clock, driver, spans } = rig({ atOnce: 2 });
    await clock.until(Promise.all(['a', 'b', 'c', 'd', 'e'].map((address) => driver(address).powerState())));
    expect(spans.map(({ address, from }) => `${address}${from}`)).toEqual(['a0', 'b0', 'c3', 'd3', 'e6']);
  });

  it('goes on after a verb that failed', async () => {
    const { gates, clock } = rig();
    const machine = new FakeMachine();
    machine.fails.set('powerState', 'vanished');
    const bmc = paced(fakeBmc(machine), gates.gate('a'), 'mark');
    await expect(clock.until(bmc.powerState())).rejects.toMatchObject({ failure: 'vanished' });
    machine.fails.clear();
    expect(await clock.until(bmc.powerState())).toBe('on');
  });
});

describe('a BMC that does not let us in', () => {
  function locked() {
    const { clock, gates } = rig();
    const machine = new FakeMachine();
    machine.fails.set('powerState', 'authentication');
    const open = (password: string): Bmc =>
      paced(fakeBmc(machine), gates.gate('10.0.10.50'), gates.mark('admin', new Secret(password)));
    const ask = (password: string) => clock.until(open(password).powerState());
    return { clock, machine, ask };
  }

  it('is asked twice and then left alone, with the time when it may be asked again', async () => {
    const { clock, machine, ask } = locked();
    await expect(ask('wrong')).rejects.toMatchObject({ failure: 'authentication' });
    await clock.advance(MINUTE);
    await expect(ask('wrong')).rejects.toMatchObject({ failure: 'authentication' });
    await expect(ask('wrong')).rejects.toMatchObject({
      failure: 'locked-out',
      retryable: true,
      message: expect.stringContaining('10.0.10.50: not asked'),
    });
    await expect(ask('wrong')).rejects.toThrow('after 2026-01-01T00:06:00.000Z');
    expect(machine.verbs).toHaveLength(2);
    await clock.advance(5 * MINUTE);
    await expect(ask('wrong')).rejects.toMatchObject({ failure: 'authentication' });
  });

  it('is asked again at once with another password, and forgets the failures when that is right', async () => {
    const { machine, ask } = locked();
    for (let turn = 0; turn < 2; turn++) await expect(ask('wrong')).rejects.toBeInstanceOf(BmcError);
    machine.fails.clear();
    expect(await ask('right')).toBe('on');
    machine.fails.set('powerState', 'authentication');
    await expect(ask('wrong')).rejects.toMatchObject({ failure: 'authentication' });
  });

  it('does not keep the password', () => {
    const { gates } = rig();
    const mark = gates.mark('admin', new Secret('hunter2'));
    expect(mark).toBe(gates.mark('admin', new Secret('hunter2')));
    expect(mark).not.toBe(gates.mark('admin', new Secret('hunter3')));
    expect(mark).not.toBe(new BmcGates(new VirtualClock()).mark('admin', new Secret('hunter2')));
    expect(mark).not.toContain('hunter2');
  });
});
