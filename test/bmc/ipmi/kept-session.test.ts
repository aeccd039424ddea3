// A series of verbs shares a session, and a login that knows the suite needs no negotiation.

import { describe, expect, it, onTestFinished } from 'vitest';
import type { IpmiTools, SuiteMemory } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { PATIENT, QUICK, RACING, readUntil, startSimulator, targetOf } from './client-rig.ts';
import { ADMIN, OPERATOR, type SimulatorOptions } from './simulator/simulated-bmc.ts';

const OPEN_SESSION = 'payload 10';
const CLOSE_SESSION = 'command 063c';
const HANDSHAKE = [OPEN_SESSION, 'payload 12', 'payload 14'];

interface RigOptions {
  readonly simulator?: SimulatorOptions;
  readonly tools?: IpmiTools;
  readonly user?: { readonly name: string; readonly password: string };
  readonly keepFor?: number;
}

async function rig({ simulator: options = {}, tools = PATIENT, user = ADMIN, keepFor = 60_000 }: RigOptions = {}) {
  const simulator = await startSimulator(options);
  const bmc = ipmiBmc(targetOf(simulator.port, user), { efi: true, keepFor }, tools);
  onTestFinished(() => bmc.close());
  const logins = () => simulator.heard.filter((what) => what === OPEN_SESSION).length;
  return { simulator, bmc, logins };
}

describe('a session', () => {
  it('is opened by the first verb and serves those after it', async () => {
    const { simulator, bmc, logins } = await rig();
    expect(simulator.heard).toEqual([]);
    await bmc.powerState();
    await bmc.powerState();
    await Promise.all([bmc.identity(), bmc.eventLog()]);
    expect(logins()).toBe(1);
    expect(simulator.activeSessions).toBe(1);
  });

  it('is closed when nobody has asked for a while', async () => {
    const { simulator, bmc } = await rig({ tools: RACING, keepFor: 1000 });
    await bmc.powerState();
    await expect.poll(() => simulator.activeSessions).toBe(0);
    expect(simulator.heard.at(-1)).toBe(CLOSE_SESSION);
    expect(await bmc.powerState()).toBe('off');
  });

  it('is closed at the end, after the verbs before it, and once', async () => {
    const { simulator, bmc } = await rig();
    const asked = bmc.powerState();
    await Promise.all([bmc.close(), bmc.close()]);
    expect(await asked).toBe('off');
    expect(simulator.activeSessions).toBe(0);
    expect(simulator.heard.filter((what) => what === CLOSE_SESSION)).toHaveLength(1);
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'closed' });
  });

  it('that the BMC has forgotten is replaced, and the verb does not notice', async () => {
    const { simulator, bmc, logins } = await rig({ tools: QUICK });
    await bmc.powerState();
    simulator.sessions.clear();
    await bmc.powerReset();
    expect(logins()).toBe(2);
    expect(simulator.machine.controls).toEqual([1]);
  });

  it('that was lost in the middle of a verb is not: nobody knows what was done', async () => {
    const { simulator, bmc } = await rig({ tools: QUICK });
    await bmc.powerOn();
    simulator.lies.unanswered = 0x0002;
    await expect(bmc.powerReset()).rejects.toMatchObject({ failure: 'vanished' });
    expect(simulator.machine.controls).toEqual([1, 3]);
  });

  it('is given up with a verb that does not come to an end, and others get their turn', async () => {
    const { simulator, bmc } = await rig({ tools: { ...PATIENT, timings: { ...PATIENT.timings, verb: 100 } } });
    const [first] = simulator.machine.events;
    if (!first) throw new Error('the machine has events');
    simulator.machine.events = Array.from({ length: 20_000 }, (_, at) =>
      Uint8Array.of(at + 1, (at + 1) >> 8, ...first.subarray(2)),
    );
    await expect(bmc.eventLog()).rejects.toMatchObject({
      failure: 'malformed',
      message: expect.stringMatching(/given up after \d+ answers; the BMC is too slow, or its list has no end/),
    });
    expect(await bmc.powerState()).toBe('off');
  });

  it('belongs to the console alone while that is open', async () => {
    const { simulator, bmc } = await rig({ simulator: { slots: 2 } });
    const console = await bmc.openConsole({ steal: false });
    expect(await bmc.powerState()).toBe('off');
    expect(simulator.activeSessions).toBe(2);
    await console.close();
    expect(simulator.activeSessions).toBe(1);
    await console.close();
  });

  it('and consoles end with the driver', async () => {
    const { simulator, bmc } = await rig();
    const console = await bmc.openConsole({ steal: false });
    await bmc.close();
    expect(simulator.activeSessions).toBe(0);
    expect(simulator.console.active).toBe(false);
    expect(['', 'node login: ']).toContain(await readUntil(console, 'never'));
  });
});

describe('a cipher suite', () => {
  function memory(suite: number | null, tools = PATIENT) {
    const kept: number[] = [];
    const it: SuiteMemory = { suite: () => kept.at(-1) ?? suite, rememberSuite: (_address, found) => kept.push(found) };
    return { tools: { ...tools, memory: it }, kept };
  }

  it.each([3, 17])('(%i) is remembered, and the next login asks for it at once', async (suite) => {
    const { tools, kept } = memory(null);
    const { simulator, bmc } = await rig({ tools, simulator: { suites: [suite] }, keepFor: 0 });
    await bmc.powerState();
    expect(kept).toEqual([suite]);
    simulator.heard.length = 0;
    const questions = simulator.questions;
    await bmc.powerState();
    expect(simulator.heard.slice(0, 3)).toEqual(HANDSHAKE);
    expect(simulator.questions).toBe(questions);
    expect(kept).toEqual([suite]);
  });

  it.each([
    ['that the BMC no longer takes', 3, [17]],
    ['that was never one', 99, [17]],
  ])('%s is negotiated anew', async (_what, remembered, suites) => {
    const { tools, kept } = memory(remembered);
    const { bmc } = await rig({ tools, simulator: { suites } });
    expect(await bmc.powerState()).toBe('off');
    expect(kept).toEqual([17]);
  });

  it('that is right does not hide a wrong password, which is tried once', async () => {
    const { tools } = memory(17);
    const { bmc, logins } = await rig({ tools, user: { name: 'admin', password: 'wrong' } });
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'authentication' });
    expect(logins()).toBe(1);
  });

  it('that is right does not hide an absent BMC', async () => {
    const { tools } = memory(17, QUICK);
    const { simulator, bmc } = await rig({ tools });
    simulator.deaf = true;
    await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'unreachable', retryable: true });
  });

  it('serves an operator as well', async () => {
    const { tools } = memory(17);
    const { bmc, simulator } = await rig({ tools, user: OPERATOR });
    await bmc.powerOn();
    expect(simulator.machine.power).toBe('on');
  });

  it('whose first packet is lost is negotiated', async () => {
    const { tools } = memory(17, QUICK);
    const { simulator, bmc } = await rig({ tools });
    simulator.deaf = true;
    const asked = bmc.powerState();
    await expect.poll(() => simulator.missed).toBeGreaterThan(0);
    simulator.deaf = false;
    expect(await asked).toBe('off');
    expect(simulator.questions).toBe(1);
  });
});
