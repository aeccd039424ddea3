// The client as tests use it: real sockets on loopback, and a clock that can run faster than ours.

import { onTestFinished } from 'vitest';
import type { BmcConsole } from '../../../appliance/bmc/bmc.ts';
import type { BmcClock } from '../../../appliance/bmc/clock.ts';
import { IPMI_TOOLS, type IpmiTarget, type IpmiTools } from '../../../appliance/bmc/ipmi/connection.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN, SimulatedBmc, type SimulatorOptions } from './simulator/simulated-bmc.ts';

/** For BMCs that fall silent: two seconds, and they are given up. */
export const QUICK: IpmiTools = {
  ...IPMI_TOOLS,
  timings: { firstWait: 400, growth: 1.5, tries: 3, keepAliveAfter: 25_000, verb: 300_000 },
};

/** For BMCs that answer: on the busiest machine nothing is asked twice, so that what they were told can be counted. */
export const PATIENT: IpmiTools = { ...QUICK, timings: { ...QUICK.timings, firstWait: 20_000 } };

const FACTOR = 200;

const racing: BmcClock = {
  now: () => performance.now() * FACTOR,
  wakeAt: (at, run) => {
    const timeout = setTimeout(run, Math.max(0, at / FACTOR - performance.now()));
    return () => clearTimeout(timeout);
  },
};

/** Minutes pass in less than a second; the waits for packets are as long as ever. For BMCs that answer. */
export const RACING: IpmiTools = {
  ...PATIENT,
  clock: racing,
  timings: {
    ...PATIENT.timings,
    firstWait: PATIENT.timings.firstWait * FACTOR,
    keepAliveAfter: 25_000 * FACTOR,
    verb: PATIENT.timings.verb * FACTOR,
  },
};

export async function startSimulator(options: SimulatorOptions = {}): Promise<SimulatedBmc> {
  const bmc = await SimulatedBmc.start(options);
  onTestFinished(() => bmc.stop());
  return bmc;
}

export const targetOf = (
  port: number,
  user: { readonly name: string; readonly password: string } = ADMIN,
  bmcKey: string | null = null,
): IpmiTarget => ({
  address: '127.0.0.1',
  port,
  userName: user.name,
  password: new Secret(user.password),
  bmcKey: bmcKey === null ? null : new Secret(bmcKey),
});

/** Reads a console until this text has come. */
export async function readUntil(console: BmcConsole, end: string): Promise<string> {
  let text = '';
  for await (const bytes of console) {
    text += Buffer.from(bytes).toString('latin1');
    if (text.endsWith(end)) break;
  }
  return text;
}
