// The machines of the rack tests, each with its own MAC address and UUID.

import type { FirmwareKind, VirtualMachineSpec } from '../../../appliance/lab/rack/firmware.ts';

/** `number`: 1 to 99, different for each machine of a site. */
export const machine = (firmware: FirmwareKind, number: number): VirtualMachineSpec => ({
  firmware,
  mac: `52:54:00:77:00:${twoDigits(number)}`,
  uuid: `7a11ab1e-0000-4000-8000-5254007700${twoDigits(number)}`,
});

/** The same machine as an inventory declares it. */
export const declared = (name: string, { mac, uuid }: VirtualMachineSpec) => ({
  name,
  sku: 'virtual',
  uuid,
  interfaces: [{ name: 'eth0', mac, network: 'boot' }],
});

const twoDigits = (number: number): string => String(number).padStart(2, '0');
