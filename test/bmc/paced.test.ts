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
  const driver = (address: string, credential = 'fingerprint'): Bmc => {
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
  it('gets one request at a time, from any number of drivers', async () => {
    const { clock, driver, spans } = rig();
    await clock.until(Promise.all([driver('a').powerState(), driver('a').powerState(), driver('b').powerState()]));
    expect(spans.map(({ address, from, to }) => `${address} ${from}-${to}`)).toEqual(['a 0-3', 'b 0-3', 'a 3-6']);
  });

  it('is known to run a verb while others wait, and since when', async () => {
    const { clock, gates, driver } = rig();
    expect(gates.running('a')).toBeNull();
    const both = Promise.all([driver('a').powerOn(), driver('a').powerState()]);
    clock.wakeAt(T0 + SECOND, () => expect(gates.running('a')).toEqual({ verb: 'powerOn', since: T0 }));
    clock.wakeAt(T0 + 4 * SECOND, () =>
      expect(gates.running('a')).toEqual({ verb: 'powerState', since: T0 + 3 * SECOND }),
    );
    await clock.until(both);
    expect(gates.running('a')).toBeNull();
    expect(gates.running('b')).toBeNull();
  });

  it('pauses between two changes, and answers queries meanwhile', async () => {
    const { clock, driver, spans } = rig({ restAfterChange: 5 * SECOND });
    const bmc = driver('a');
    await clock.until(Promise.all([bmc.powerOff(), bmc.powerState(), bmc.powerOn()]));
    expect(spans.map(({ verb, from }) => `${verb} at ${from}`)).toEqual([
      'powerOff at 0',
      'powerState at 3',
      'powerOn at 8',
    ]);
  });

  it('respects the fleet-wide limit, in FIFO order', async () => {
    const { clock, driver, spans } = rig({ atOnce: 2 });
    await clock.until(Promise.all(['a', 'b', 'c', 'd', 'e'].map((address) => driver(address).powerState())));
    expect(spans.map(({ address, from }) => `${address}${from}`)).toEqual(['a0', 'b0', 'c3', 'd3', 'e6']);
  });

  it('continues after a verb that failed', async () => {
    const { gates, clock } = rig();
    const machine = new FakeMachine();
    machine.fails.set('powerState', 'vanished');
    const bmc = paced(fakeBmc(machine), gates.gate('a'), 'fingerprint');
    await expect(clock.until(bmc.powerState())).rejects.toMatchObject({ failure: 'vanished' });
    machine.fails.clear();
    expect(await clock.until(bmc.powerState())).toBe('on');
  });
});

describe('a BMC that rejects our login', () => {
  function locked() {
    const { clock, gates } = rig();
    const machine = new FakeMachine();
    machine.fails.set('powerState', 'authentication');
    const open = (password: string): Bmc =>
      paced(fakeBmc(machine), gates.gate('10.0.10.50'), gates.fingerprint('admin', new Secret(password)));
    const query = (password: string) => clock.until(open(password).powerState());
    return { clock, machine, query };
  }

  it('gets two logins and then none, and the error names the time of the next one', async () => {
    const { clock, machine, query } = locked();
    await expect(query('wrong')).rejects.toMatchObject({ failure: 'authentication' });
    await clock.advance(MINUTE);
    await expect(query('wrong')).rejects.toMatchObject({ failure: 'authentication' });
    await expect(query('wrong')).rejects.toMatchObject({
      failure: 'locked-out',
      retryable: true,
      message: expect.stringContaining('10.0.10.50: no request was sent'),
    });
    await expect(query('wrong')).rejects.toThrow('after 2026-01-01T00:06:00.000Z');
    expect(machine.verbs).toHaveLength(2);
    await clock.advance(5 * MINUTE);
    await expect(query('wrong')).rejects.toMatchObject({ failure: 'authentication' });
  });

  it('gets a login with another password at once, and resets the failures when it succeeds', async () => {
    const { machine, query } = locked();
    for (let turn = 0; turn < 2; turn++) await expect(query('wrong')).rejects.toBeInstanceOf(BmcError);
    machine.fails.clear();
    expect(await query('right')).toBe('on');
    machine.fails.set('powerState', 'authentication');
    await expect(query('wrong')).rejects.toMatchObject({ failure: 'authentication' });
  });

  it('stores no password', () => {
    const { gates } = rig();
    const fingerprint = gates.fingerprint('admin', new Secret('hunter2'));
    expect(fingerprint).toBe(gates.fingerprint('admin', new Secret('hunter2')));
    expect(fingerprint).not.toBe(gates.fingerprint('admin', new Secret('hunter3')));
    expect(fingerprint).not.toBe(new BmcGates(new VirtualClock()).fingerprint('admin', new Secret('hunter2')));
    expect(fingerprint).not.toContain('hunter2');
  });
});
