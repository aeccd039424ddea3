// The ways to tell a machine what to boot from, in the order they are tried. Firmware obeys some of them and ignores others,
// without a word.

import type { BootChoice, BootDevice } from './bmc.ts';

export type DriverName = 'ipmi' | 'redfish';

export interface BootWish {
  readonly device: BootDevice;
  /** How the machine's firmware boots. */
  readonly firmware: 'efi' | 'legacy';
}

export interface BootMethod {
  /** Stable: the quirk ledger is kept by it. */
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
 * The drivers in the order they are preferred, and a choice that would last only after everything that lasts for one start; what
 * worked last (`best`) comes first.
 */
export function bootLadder(drivers: readonly DriverName[], wish: BootWish, best: string | null): readonly BootMethod[] {
  const all = drivers.flatMap((driver) => methodsOf(driver, wish));
  const methods = [...all.filter(({ persistent }) => !persistent), ...all.filter(({ persistent }) => persistent)];
  return [...methods.filter(({ name }) => name === best), ...methods.filter(({ name }) => name !== best)];
}

function methodsOf(driver: DriverName, { device, firmware }: BootWish): BootMethod[] {
  // IPMI has no word for it.
  if (driver === 'ipmi' && device === 'http') return [];
  // Some Supermicro X11 firmware ignores requests with the UEFI bit. In Redfish, legacy means what it says.
  const withoutEfi = driver === 'ipmi' && firmware === 'efi' ? [method(driver, 'legacy', false)] : [];
  return [method(driver, firmware, false), ...withoutEfi, method(driver, firmware, true)];
}

/** Of a method by its name. */
export const driverOf = (name: string): DriverName => (name.startsWith('redfish-') ? 'redfish' : 'ipmi');

export const choiceOf = ({ firmware, persistent }: BootMethod, { device }: BootWish): BootChoice => ({
  device,
  firmware,
  persistent,
});

const DRIVER_WORDS: Readonly<Record<DriverName, string>> = { ipmi: 'IPMI', redfish: 'Redfish' };

export const methodWords = ({ driver, firmware, persistent }: BootMethod): string => {
  const kind = driver === 'ipmi' ? `the UEFI bit ${firmware === 'efi' ? 'set' : 'clear'}` : `mode ${firmware}`;
  return `${DRIVER_WORDS[driver]}, ${kind}, ${persistent ? 'for every start' : 'once'}`;
};
