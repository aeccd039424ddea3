import { beforeEach, describe, expect, it } from 'vitest';
import { NO_WITNESS, type PowerWitness, witnessed } from '../../../appliance/bmc/access/witnessed.ts';
import type { Bmc } from '../../../appliance/bmc/bmc.ts';
import { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import { aMachine } from '../../machines/machines.ts';
import { FakeMachine, fakeBmc } from '../fake-bmc.ts';

let hardware: FakeMachine;
let noted: string[];
let isExpected: boolean;
let bmc: Bmc;

beforeEach(() => {
  hardware = new FakeMachine();
  noted = [];
  isExpected = true;
  const witness: PowerWitness = {
    expects: () => isExpected,
    cut: () => void noted.push(`cut (${hardware.power})`),
    reading: async (_, power) => void noted.push(`reading ${power}`),
    heldOff: async (_, most) => void noted.push(`held off, at most ${most} ms (${hardware.power})`),
    started: () => void noted.push(`started (${hardware.power})`),
  };
  bmc = witnessed(fakeBmc(hardware), aMachine({}), () => witness);
});

describe('a BMC whose power states are noted', () => {
  it('tells each state that is read', async () => {
    expect(await bmc.powerState()).toBe('on');
    hardware.power = 'unknown';
    await bmc.powerState();
    expect(noted).toEqual(['reading on', 'reading unknown']);
  });

  it('switches off and on in two steps, and reads the state again before the start', async () => {
    await bmc.powerCycle();
    expect(noted).toEqual(['cut (off)', 'held off, at most 70000 ms (off)', 'reading off', 'started (off)']);
    expect(hardware.verbs).toEqual(['powerState', 'powerOff', 'powerState', 'powerOn']);
    expect(hardware.power).toBe('on');
  });

  it('does not take a state for a change: it was off before', async () => {
    hardware.power = 'off';
    await bmc.powerOff();
    expect(noted).toEqual(['reading off']);
  });

  it('tells nothing when the BMC does not do it', async () => {
    hardware.fails.set('powerOff', 'contradiction');
    await expect(bmc.powerCycle()).rejects.toThrow(BmcError);
    expect(noted).toEqual([]);
    expect(hardware.starts).toEqual([]);
  });

  it('asks the BMC nothing more for a machine whose node does not report', async () => {
    isExpected = false;
    await bmc.powerOff();
    await bmc.powerOn();
    await bmc.powerCycle();
    expect(hardware.verbs).toEqual(['powerOff', 'powerOn', 'powerCycle']);
    expect(noted).toEqual(['reading off', expect.stringContaining('held off'), 'started (off)', 'started (on)']);
  });

  it('leaves the power cycle to a BMC that cannot switch off', async () => {
    hardware.fails.set('powerOff', 'unsupported');
    await bmc.powerCycle();
    expect(hardware.verbs.at(-1)).toBe('powerCycle');
    expect(noted).toEqual(['started (on)']);
  });

  it('knows nothing about a reset', async () => {
    await bmc.powerReset();
    expect(noted).toEqual(['started (on)']);
  });

  it('is used without a witness, too', async () => {
    await witnessed(fakeBmc(hardware), aMachine({}), () => NO_WITNESS).powerCycle();
    expect(hardware.verbs).toEqual(['powerCycle']);
  });
});
