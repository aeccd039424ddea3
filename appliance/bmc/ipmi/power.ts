// Power, with the promises of bmc.ts: afterwards it is so, and asking twice does no harm.

import { chassisControl, getChassisStatus } from '../../codecs/ipmi/commands/chassis.ts';
import { COMPLETION } from '../../codecs/ipmi/completion-code.ts';
import { SECOND } from '../../domain/instant.ts';
import { pause } from '../clock.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { wasRefusedWith } from './refusal.ts';

/** Big machines take this long to let go of their power supplies. */
const LIMIT = 90 * SECOND;
const FIRST_PAUSE = 0.25 * SECOND;
const LONGEST_PAUSE = 2 * SECOND;

export const powerStatus = async (bmc: IpmiCaller): Promise<'on' | 'off'> => (await bmc.call(getChassisStatus())).power;

export const powerOn = (bmc: IpmiCaller): Promise<void> => bring(bmc, 'on');

export const powerOff = (bmc: IpmiCaller): Promise<void> => bring(bmc, 'off');

/** Off and on as two steps, not the BMC's own cycle: each can be repeated when an answer is lost, and is seen to happen. */
export async function powerCycle(bmc: IpmiCaller): Promise<void> {
  await powerOff(bmc);
  await powerOn(bmc);
}

/** Starts anew without losing power; one that is off is switched on. Sent once: nobody is reset twice by a lost answer. */
export async function powerReset(bmc: IpmiCaller): Promise<void> {
  if ((await powerStatus(bmc)) === 'off') await powerOn(bmc);
  else await bmc.call(chassisControl('reset'));
}

/** Asks the operating system to shut down, and does not wait for it. */
export async function powerSoft(bmc: IpmiCaller): Promise<void> {
  if ((await powerStatus(bmc)) === 'on') await bmc.call(chassisControl('soft'));
}

async function bring(bmc: IpmiCaller, wanted: 'on' | 'off'): Promise<void> {
  if ((await powerStatus(bmc)) === wanted) return;
  try {
    await bmc.call(chassisControl(wanted));
  } catch (error) {
    // It got there by itself in between; the look below tells.
    if (!wasRefusedWith(error, COMPLETION.notInPresentState)) throw error;
  }
  const deadline = bmc.clock.now() + LIMIT;
  for (let wait = FIRST_PAUSE; (await powerStatus(bmc)) !== wanted; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
    if (bmc.clock.now() >= deadline) {
      const message = `the BMC accepted power ${wanted}, and after ${LIMIT / SECOND} s the machine is not ${wanted}`;
      throw new IpmiError('contradiction', message);
    }
    await pause(bmc.clock, wait);
  }
}
