// A series of verbs shares a session, and a login with a remembered suite needs no negotiation.

import { describe, expect, it, onTestFinished } from 'vitest';
import type { IpmiDeps, SuiteMemory } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { PATIENT, QUICK, RACING, readUntil, startSimulator, targetOf } from './client-rig.ts';
import { ADMIN, OPERATOR, type SimulatorOptions } from './simulator/simulated-bmc.ts';

const OPEN_SESSION = 'payload 10';
const CLOSE_SESSION = 'command 063c';
const HANDSHAKE = [OPEN_SESSION, 'payload 12', 'payload 14'];

interface RigOptions {
  readonly simulator?: SimulatorOptions;
  readonly deps?: IpmiDeps;
  readonly user?: { readonly name: string; readonly password: string };
  readonly keepFor?: number;
}

async function rig({ simulator: options = {}, deps = PATIENT, user = ADMIN, keepFor = 60_000 }: RigOptions = {}) {
  const simulator = await startSimulator(options);
  const bmc = ipmiBmc(targetOf(simulator.port, user), { efi: true, keepFor }, deps);
  onTestFinished(() => bmc.close());
  const logins = () => simulator.received.filter((what) => what === OPEN_SESSION).length;
  return { simulator, bmc, logins };
}

describe('a session', () => {
  it('is opened by the first verb and shared by the next ones', async () => {
    const { simulator, bmc, logins } = await rig();
    expect(simulator.received).toEqual([]);
    await bmc.powerState();
    await bmc.powerState();
    await Promise.all([bmc.identity(), bmc.eventLog()]);
    expect(logins()).toBe(1);
    expect(simulator.activeSessions).toBe(1);
  });

  it('is closed when it is idle', async () => {
    const { simulator, bmc } = await rig({ deps: RACING, keepFor: 1000 });
    await bmc.powerState();
    await expect.poll(() => simulator.activeSessions).toBe(0);
    expect(simulator.received.at(-1)).toBe(CLOSE_SESSION);
    expect(await bmc.powerState()).toBe('off');
  });

  it('is closed once, after the queued verbs', async () => {
    const { simulator, bmc } = await rig();
    const verb = bmc.powerState();
    await Promise.all([bmc.close(), bmc.close()]);
    expect(await verb).toBe('off');
    expect(simulator.activeSessions).toBe(0);
    expect(simulator.received.filter((what) => what === CLOSE_SESSION)).toHaveLength(1);
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'closed' });
  });

  it('that the BMC lost is replaced during the next verb', async () => {
    const { simulator, bmc, logins } = await rig({ deps: QUICK });
    await bmc.powerState();
    simulator.sessions.clear();
    await bmc.powerReset();
    expect(logins()).toBe(2);
    expect(simulator.machine.controls).toEqual([1]);
  });

  it('that was lost in the middle of a verb is not replaced, because the outcome is unknown', async () => {
    const { simulator, bmc } = await rig({ deps: QUICK });
    await bmc.powerOn();
    simulator.faults.unanswered = 0x0002;
    await expect(bmc.powerReset()).rejects.toMatchObject({ failure: 'vanished' });
    expect(simulator.machine.controls).toEqual([1, 3]);
  });

  it('ends with a verb that exceeds its timeout, and later verbs work', async () => {
    const { simulator, bmc } = await rig({ deps: { ...PATIENT, timings: { ...PATIENT.timings, verb: 100 } } });
    const [first] = simulator.machine.events;
    if (!first) throw new Error('the machine has events');
    simulator.machine.events = Array.from({ length: 20_000 }, (_, at) =>
      Uint8Array.of(at + 1, (at + 1) >> 8, ...first.subarray(2)),
    );
    await expect(bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringMatching(/timed out after \d+ replies; the BMC is too slow, or its list is endless/),
    });
    expect(await bmc.powerState()).toBe('off');
  });

  it('is separate for an open console', async () => {
    const { simulator, bmc } = await rig({ simulator: { slots: 2 } });
    const console = await bmc.openConsole({ steal: false });
    expect(await bmc.powerState()).toBe('off');
    expect(simulator.activeSessions).toBe(2);
    await console.close();
    expect(simulator.activeSessions).toBe(1);
    await console.close();
  });

  it('and its consoles are closed with the driver', async () => {
    const { simulator, bmc } = await rig();
    const console = await bmc.openConsole({ steal: false });
    await bmc.close();
    expect(simulator.activeSessions).toBe(0);
    expect(simulator.console.active).toBe(false);
    expect(['', 'node login: ']).toContain(await readUntil(console, 'never'));
  });
});

describe('a cipher suite', () => {
  function memory(suite: number | null, deps = PATIENT) {
    const kept: number[] = [];
    const it: SuiteMemory = { suite: () => kept.at(-1) ?? suite, rememberSuite: (_address, found) => kept.push(found) };
    return { deps: { ...deps, memory: it }, kept };
  }

  it.each([3, 17])('(%i) is remembered, and the next login requests it at once', async (suite) => {
    const { deps, kept } = memory(null);
    const { simulator, bmc } = await rig({ deps, simulator: { suites: [suite] }, keepFor: 0 });
    await bmc.powerState();
    expect(kept).toEqual([suite]);
    simulator.received.length = 0;
    const before = simulator.capabilityRequests;
    await bmc.powerState();
    expect(simulator.received.slice(0, 3)).toEqual(HANDSHAKE);
    expect(simulator.capabilityRequests).toBe(before);
    expect(kept).toEqual([suite]);
  });

  it.each([
    ['that the BMC no longer accepts', 3, [17]],
    ['that does not exist', 99, [17]],
  ])('%s is negotiated again', async (_what, remembered, suites) => {
    const { deps, kept } = memory(remembered);
    const { bmc } = await rig({ deps, simulator: { suites } });
    expect(await bmc.powerState()).toBe('off');
    expect(kept).toEqual([17]);
  });

  it('that is remembered does not hide a wrong password, which is tried once', async () => {
    const { deps } = memory(17);
    const { bmc, logins } = await rig({ deps, user: { name: 'admin', password: 'wrong' } });
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'authentication' });
    expect(logins()).toBe(1);
  });

  it('that is remembered does not hide an unreachable BMC', async () => {
    const { deps } = memory(17, QUICK);
    const { simulator, bmc } = await rig({ deps });
    simulator.offline = true;
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'unreachable', retryable: true });
  });

  it('works for an operator too', async () => {
    const { deps } = memory(17);
    const { bmc, simulator } = await rig({ deps, user: OPERATOR });
    await bmc.powerOn();
    expect(simulator.machine.power).toBe('on');
  });

  it('whose first packet is lost is negotiated', async () => {
    const { deps } = memory(17, QUICK);
    const { simulator, bmc } = await rig({ deps });
    simulator.offline = true;
    const verb = bmc.powerState();
    await expect.poll(() => simulator.missed).toBeGreaterThan(0);
    simulator.offline = false;
    expect(await verb).toBe('off');
    expect(simulator.capabilityRequests).toBe(1);
  });
});
