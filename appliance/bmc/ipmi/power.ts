// Power verbs, as bmc.ts specifies them: the final state is verified, and a repetition is harmless.

import { chassisControl, getChassisStatus } from '../../codecs/ipmi/commands/chassis.ts';
import { COMPLETION } from '../../codecs/ipmi/completion-code.ts';
import { SECOND } from '../../domain/instant.ts';
import { pause } from '../clock.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { wasRefusedWith } from './refusal.ts';

/** Large machines take this long to power off. */
const LIMIT = 90 * SECOND;
const FIRST_PAUSE = 0.25 * SECOND;
const LONGEST_PAUSE = 2 * SECOND;

export const powerStatus = async (bmc: IpmiCaller): Promise<'on' | 'off'> => (await bmc.call(getChassisStatus())).power;

export const powerOn = (bmc: IpmiCaller): Promise<void> => setPower(bmc, 'on');

export const powerOff = (bmc: IpmiCaller): Promise<void> => setPower(bmc, 'off');

/** Off and on as two steps, not the BMC's own cycle: each can be retried when a reply is lost, and is verified. */
export async function powerCycle(bmc: IpmiCaller): Promise<void> {
  await powerOff(bmc);
  await powerOn(bmc);
}

/** Resets without a power loss; powers on when off. Sent once: a lost reply must not reset the machine twice. */
export async function powerReset(bmc: IpmiCaller): Promise<void> {
  if ((await powerStatus(bmc)) === 'off') await powerOn(bmc);
  else await bmc.call(chassisControl('reset'));
}

/** Requests a shutdown from the operating system, and does not wait for it. */
export async function powerSoft(bmc: IpmiCaller): Promise<void> {
  if ((await powerStatus(bmc)) === 'on') await bmc.call(chassisControl('soft'));
}

async function setPower(bmc: IpmiCaller, target: 'on' | 'off'): Promise<void> {
  if ((await powerStatus(bmc)) === target) return;
  try {
    await bmc.call(chassisControl(target));
  } catch (error) {
    // It reached the state meanwhile; the loop below verifies it.
    if (!wasRefusedWith(error, COMPLETION.notInPresentState)) throw error;
  }
  const deadline = bmc.clock.now() + LIMIT;
  for (let wait = FIRST_PAUSE; (await powerStatus(bmc)) !== target; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
    if (bmc.clock.now() >= deadline) {
      const message = `the BMC accepted power ${target}, but after ${LIMIT / SECOND} s the machine is not ${target}`;
      throw new IpmiError('contradiction', message);
    }
    await pause(bmc.clock, wait);
  }
}
