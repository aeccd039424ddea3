// The verbs that every baseboard management controller is asked in, and what each one promises.

import type { Secret } from '../domain/secret.ts';

/** `unknown`: the BMC itself cannot tell, or nobody was asked. */
export type PowerState = 'on' | 'off' | 'unknown';

/** `http`: UEFI HTTP Boot, which IPMI has no word for. `none`: what the firmware's own order says. */
export const BOOT_DEVICES = ['network', 'http', 'disk', 'cdrom', 'setup', 'none'] as const;
export type BootDevice = (typeof BOOT_DEVICES)[number];

export interface BootChoice {
  readonly device: BootDevice;
  /** Every start from now on; otherwise the next one only. */
  readonly persistent: boolean;
  /** Which kind of start is asked for; null leaves it to the BMC. UEFI machines may ignore a request that does not say. */
  readonly firmware: 'efi' | 'legacy' | null;
}

export interface BootReadBack {
  readonly device: BootDevice;
  /** What the BMC shows otherwise than it was told, one sentence each; empty when it kept all of it. */
  readonly differences: readonly string[];
}

/** `on` stays until it is switched off; not every BMC blinks for the time it was given. */
export type IdentifyLight = 'on' | 'off' | { readonly seconds: number };

export interface SensorReading {
  readonly name: string;
  /** temperature, voltage, fan, power, …; `other` where the BMC does not say. */
  readonly kind: string;
  /** Null: nothing to read at present, or the sensor has states only. */
  readonly value: number | null;
  readonly unit: string;
  readonly health: 'ok' | 'warning' | 'critical' | 'unknown';
  /** The states that hold, in words. */
  readonly states: readonly string[];
}

export interface LogEntry {
  readonly id: string;
  /** Milliseconds since 1970; null: the BMC's clock was not set. */
  readonly at: number | null;
  readonly severity: 'ok' | 'warning' | 'critical' | 'unknown';
  /** One line for a person. */
  readonly message: string;
}

/** What the BMC says it is. The quirk ledger is kept by vendor, product and firmware. */
export interface BmcIdentity {
  readonly vendor: string;
  readonly product: string;
  readonly firmware: string;
  /** Of the machine, not of the BMC; null where it is not told. */
  readonly serial: string | null;
}

/** The machine's serial console: bytes both ways. The iteration ends when either side closes it. */
export interface BmcConsole extends AsyncIterable<Uint8Array> {
  write(characters: Uint8Array): void;
  /** Frees the console for others. Twice is the same as once. */
  close(): Promise<void>;
}

/**
 * Each verb settles within the driver's own time limit; a refusal or silence of the BMC rejects with a BmcError. Verbs of one
 * BMC may be called at once: the driver makes them wait for each other.
 */
export interface Bmc {
  /** Asks and changes nothing. */
  identity(): Promise<BmcIdentity>;
  /** Asks and changes nothing. */
  powerState(): Promise<PowerState>;
  /** The machine is on afterwards. One that is on already is left as it is. */
  powerOn(): Promise<void>;
  /** The machine is off afterwards, at once and without asking its operating system. Off already: left as it is. */
  powerOff(): Promise<void>;
  /** The machine starts anew: off and on again, or just on when it was off. Twice is two starts. */
  powerCycle(): Promise<void>;
  /** Starts anew without losing power; one that is off is switched on. Twice is two starts. */
  powerReset(): Promise<void>;
  /** Asks the operating system to shut down, and does not wait for it. Off already: left as it is. */
  powerSoft(): Promise<void>;
  /** Sets and reads back; a device that reads back as another one rejects. Twice is once; power is not touched. */
  setBoot(choice: BootChoice): Promise<BootReadBack>;
  /** Twice is once. */
  identify(light: IdentifyLight): Promise<void>;
  sensors(): Promise<SensorReading[]>;
  /** The oldest first. */
  eventLog(): Promise<LogEntry[]>;
  /** Empty afterwards, save for an entry that says so. */
  clearEventLog(): Promise<void>;
  /** `steal` ends the console of whoever has it; otherwise that is a refusal (`busy`). */
  openConsole(options: { readonly steal: boolean }): Promise<BmcConsole>;
  /**
   * Gives the user that this driver logs in as another password, and nothing else. Whether it is good is for the caller to
   * find out, with a driver that uses it.
   */
  setOwnPassword(password: Secret): Promise<void>;
  /** Ends what is kept open. Never rejects; no verb is called afterwards. */
  close(): Promise<void>;
}
