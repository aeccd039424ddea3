// The boot device: set, then read back, because BMCs accept values that they do not store.

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

/** The boot flags of IPMI: the boot mode cannot be left unspecified. */
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

/** Another device is an error; other lost bits are only reported, because simulators lose them too. */
export async function setBootDevice(bmc: IpmiCaller, choice: IpmiBootChoice): Promise<BootReadBack> {
  const { persistent, efi } = choice;
  const device = await sourceOf(bmc, choice);
  const requested: BootFlags = { valid: device !== 'none', persistent, efi, device };
  // OpenBMC supports only the flags; other BMCs need the steps around them.
  await unlessRefused(bmc.call(setBootProgress('in-progress')));
  try {
    await unlessRefused(bmc.call(keepBootFlagsBeyondTimeout()));
    await unlessRefused(bmc.call(clearBootAcknowledge()));
    await bmc.call(setBootFlags(requested));
  } finally {
    await unlessRefused(bmc.call(setBootProgress('complete')));
  }
  const flags = await bootDevice(bmc);
  if (flags.device !== requested.device) {
    const message = `the BMC accepted boot device ${requested.device}, but reads back ${flags.device}`;
    throw new IpmiError('contradiction', message, { readBack: flags.device });
  }
  const differences = (['valid', 'persistent', 'efi'] as const)
    .filter((bit) => flags[bit] !== requested[bit])
    .map((bit) => `${bit} reads back as ${flags[bit]}, requested was ${requested[bit]}`);
  return { device: choice.device, differences };
}

async function sourceOf(bmc: IpmiCaller, { device, efi }: IpmiBootChoice): Promise<BootSource> {
  if (device === 'http') {
    throw new IpmiError('unsupported', 'IPMI does not support UEFI HTTP boot: use Redfish, or boot from the network');
  }
  // Supermicro's UEFI firmware boots its disks for this device, and ignores the IPMI disk device.
  if (device === 'disk' && efi && SUPERMICRO.has((await bmc.call(getDeviceId())).manufacturer)) return 'remote-media';
  return device;
}
