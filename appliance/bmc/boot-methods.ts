// The methods to set the boot device, in the order of the attempts. Firmware honours some of them and silently ignores others.

import type { BootChoice, BootDevice } from './bmc.ts';

export type DriverName = 'ipmi' | 'redfish';

export interface BootTarget {
  readonly device: BootDevice;
  /** How the machine's firmware boots. */
  readonly firmware: 'efi' | 'legacy';
}

export interface BootMethod {
  /** Stable: the quirk ledger uses it as a key. */
  readonly name: string;
  readonly driver: DriverName;
  readonly firmware: 'efi' | 'legacy';
  readonly persistent: boolean;
}

const method = (driver: DriverName, firmware: 'efi' | 'legacy', persistent: boolean): BootMethod => ({
  name: `${driver}-${firmware}-${persistent ? 'persistent' : 'once'}`,
  driver,
  firmware,
  persistent,
});

/**
 * The drivers in order of preference, one-time methods before persistent ones; the method that worked best so far (`best`) comes
 * first.
 */
export function bootLadder(
  drivers: readonly DriverName[],
  target: BootTarget,
  best: string | null,
): readonly BootMethod[] {
  const all = drivers.flatMap((driver) => methodsOf(driver, target));
  const methods = [...all.filter(({ persistent }) => !persistent), ...all.filter(({ persistent }) => persistent)];
  return [...methods.filter(({ name }) => name === best), ...methods.filter(({ name }) => name !== best)];
}

function methodsOf(driver: DriverName, { device, firmware }: BootTarget): BootMethod[] {
  // IPMI has no boot device for HTTP Boot.
  if (driver === 'ipmi' && device === 'http') return [];
  // Some Supermicro X11 firmware ignores requests with the UEFI bit. In Redfish, `legacy` really selects legacy boot.
  const withoutEfi = driver === 'ipmi' && firmware === 'efi' ? [method(driver, 'legacy', false)] : [];
  return [method(driver, firmware, false), ...withoutEfi, method(driver, firmware, true)];
}

/** The driver of a method, by the name of the method. */
export const driverOf = (name: string): DriverName => (name.startsWith('redfish-') ? 'redfish' : 'ipmi');

export const choiceOf = ({ firmware, persistent }: BootMethod, { device }: BootTarget): BootChoice => ({
  device,
  firmware,
  persistent,
});

const DRIVER_NAMES: Readonly<Record<DriverName, string>> = { ipmi: 'IPMI', redfish: 'Redfish' };

export const methodText = ({ driver, firmware, persistent }: BootMethod): string => {
  const kind = driver === 'ipmi' ? `the UEFI bit ${firmware === 'efi' ? 'set' : 'clear'}` : `mode ${firmware}`;
  return `${DRIVER_NAMES[driver]}, ${kind}, ${persistent ? 'for every boot' : 'once'}`;
};
