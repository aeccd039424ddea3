// The client for tests: real sockets on loopback, and a clock that can run faster than real time.

import { onTestFinished } from 'vitest';
import type { BmcConsole } from '../../../appliance/bmc/bmc.ts';
import type { BmcClock } from '../../../appliance/bmc/clock.ts';
import { IPMI_DEPS, type IpmiDeps, type IpmiTarget } from '../../../appliance/bmc/ipmi/connection.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN, SimulatedBmc, type SimulatorOptions } from './simulator/simulated-bmc.ts';

/** For BMCs that stop replying: they time out after two seconds. */
export const QUICK: IpmiDeps = {
  ...IPMI_DEPS,
  timings: { firstWait: 400, growth: 1.5, tries: 3, keepAliveAfter: 25_000, verb: 300_000 },
};

/** For BMCs that reply: even on a busy machine nothing is retransmitted, so that requests can be counted. */
export const PATIENT: IpmiDeps = { ...QUICK, timings: { ...QUICK.timings, firstWait: 20_000 } };

const FACTOR = 200;

const LOOK_EVERY_MS = 5;
/** A longer gap between two looks at the clock: this process had no processor, so nobody could reply either. */
const LONGEST_STEP_MS = 20;

let [elapsed, lookedAt] = [0, performance.now()];
function racingNow(): number {
  const now = performance.now();
  elapsed += Math.min(now - lookedAt, LONGEST_STEP_MS);
  lookedAt = now;
  return elapsed * FACTOR;
}
setInterval(racingNow, LOOK_EVERY_MS).unref();

const racing: BmcClock = {
  now: racingNow,
  wakeAt: (at, run) => {
    let timeout: NodeJS.Timeout;
    const look = (): void => {
      const left = at - racingNow();
      if (left <= 0) run();
      else timeout = setTimeout(look, left / FACTOR);
    };
    timeout = setTimeout(look, Math.max(0, (at - racingNow()) / FACTOR));
    return () => clearTimeout(timeout);
  },
};

/** Minutes pass in less than a second; the timeouts for packets stay as long in real time. For BMCs that reply. */
export const RACING: IpmiDeps = {
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

/** Reads a console until this text has arrived. */
export async function readUntil(console: BmcConsole, end: string): Promise<string> {
  let text = '';
  for await (const bytes of console) {
    text += Buffer.from(bytes).toString('latin1');
    if (text.endsWith(end)) break;
  }
  return text;
}
