// What the next start is from: set, then read back, because BMCs accept what they do not keep.

import {
  type BootFlags,
  type BootSource,
  clearBootAcknowledge,
  getBootFlags,
  keepBootFlagsBeyondTimeout,
  setBootFlags,
  setBootProgress,
} from '../../codecs/ipmi/commands/boot-options.ts';
import { getDeviceId } from '../../codecs/ipmi/commands/session-commands.ts';
import { SUPERMICRO } from '../../codecs/ipmi/manufacturer.ts';
import type { BootChoice, BootDevice, BootReadBack } from '../bmc.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { unlessRefused } from './refusal.ts';

/** What IPMI can be told: there is no way not to say which kind of start is meant. */
export interface IpmiBootChoice {
  readonly device: BootDevice;
  readonly persistent: boolean;
  readonly efi: boolean;
}

export const ipmiChoice = (choice: BootChoice, machineIsEfi: boolean): IpmiBootChoice => ({
  device: choice.device,
  persistent: choice.persistent,
  efi: choice.firmware === null ? machineIsEfi : choice.firmware === 'efi',
});

export async function bootDevice(bmc: IpmiCaller): Promise<BootFlags> {
  const { usable, value } = await bmc.call(getBootFlags());
  return usable ? value : { ...value, valid: false };
}

/** A device that reads back as another one is an error; lost bits beside it are reported, for simulators lose them too. */
export async function setBootDevice(bmc: IpmiCaller, choice: IpmiBootChoice): Promise<BootReadBack> {
  const { persistent, efi } = choice;
  const device = await sourceOf(bmc, choice);
  const wanted: BootFlags = { valid: device !== 'none', persistent, efi, device };
  // OpenBMC knows only the flags; everybody else wants the steps around them.
  await unlessRefused(bmc.call(setBootProgress('in-progress')));
  try {
    await unlessRefused(bmc.call(keepBootFlagsBeyondTimeout()));
    await unlessRefused(bmc.call(clearBootAcknowledge()));
    await bmc.call(setBootFlags(wanted));
  } finally {
    await unlessRefused(bmc.call(setBootProgress('complete')));
  }
  const flags = await bootDevice(bmc);
  if (flags.device !== wanted.device) {
    const message = `the BMC accepted boot device ${wanted.device}, and shows ${flags.device}`;
    throw new IpmiError('contradiction', message);
  }
  const differences = (['valid', 'persistent', 'efi'] as const)
    .filter((bit) => flags[bit] !== wanted[bit])
    .map((bit) => `${bit} is ${flags[bit]}, set was ${wanted[bit]}`);
  return { device: choice.device, differences };
}

async function sourceOf(bmc: IpmiCaller, { device, efi }: IpmiBootChoice): Promise<BootSource> {
  if (device === 'http') {
    throw new IpmiError('unsupported', 'IPMI has no word for UEFI HTTP boot: use Redfish, or boot from the network');
  }
  // Supermicro's UEFI firmware takes its own disks for this kind of medium, and ignores the one that IPMI means.
  if (device === 'disk' && efi && SUPERMICRO.has((await bmc.call(getDeviceId())).manufacturer)) return 'remote-media';
  return device;
}
