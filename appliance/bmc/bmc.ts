// The interface of every BMC (baseboard management controller) driver, and what each verb guarantees.

import type { Mac } from '../domain/mac.ts';
import type { Secret } from '../domain/secret.ts';

/** `unknown`: the BMC does not know, or it was not queried. */
export type PowerState = 'on' | 'off' | 'unknown';

/** `http`: UEFI HTTP Boot, which IPMI does not have. `none`: the boot order of the firmware. */
export const BOOT_DEVICES = ['network', 'http', 'disk', 'cdrom', 'setup', 'none'] as const;
export type BootDevice = (typeof BOOT_DEVICES)[number];

export interface BootChoice {
  readonly device: BootDevice;
  /** For every boot; otherwise for the next boot only. */
  readonly persistent: boolean;
  /** The requested boot mode; null leaves it to the BMC. UEFI machines may ignore a request without a mode. */
  readonly firmware: 'efi' | 'legacy' | null;
}

export interface BootReadBack {
  readonly device: BootDevice;
  /** Differences between the request and what the BMC reads back, one sentence each; empty when there are none. */
  readonly differences: readonly string[];
}

/** Null: the BMC does not say which image is in the drive. Asked only for the drive that `insertMedia` uses. */
export type ImageChoice = (image: string | null) => boolean;

/** `on` lasts until it is switched off; not every BMC honours a number of seconds. */
export type IdentifyLight = 'on' | 'off' | { readonly seconds: number };

export interface SensorReading {
  readonly name: string;
  /** temperature, voltage, fan, power, …; `other` where the BMC does not say. */
  readonly kind: string;
  /** Null: no reading at present, or a discrete sensor without a value. */
  readonly value: number | null;
  readonly unit: string;
  readonly health: 'ok' | 'warning' | 'critical' | 'unknown';
  /** The asserted states, as text. */
  readonly states: readonly string[];
}

export interface LogEntry {
  readonly id: string;
  /** Milliseconds since 1970; null: the BMC's clock was not set. */
  readonly at: number | null;
  readonly severity: 'ok' | 'warning' | 'critical' | 'unknown';
  /** One line of text for the operator. */
  readonly message: string;
}

/** The identity that the BMC reports. The quirk ledger is keyed by vendor, product and firmware. */
export interface BmcIdentity {
  readonly vendor: string;
  readonly product: string;
  readonly firmware: string;
  /** Serial number of the machine, not of the BMC; null when it is not reported. */
  readonly serial: string | null;
}

/** A network card of the machine. `unknown`: the BMC does not say whether it has a link. */
export interface NetworkCard {
  readonly mac: Mac;
  readonly link: 'up' | 'down' | 'unknown';
}

/** The machine's serial console, in both directions. The iteration ends when either side closes it. */
export interface BmcConsole extends AsyncIterable<Uint8Array> {
  write(characters: Uint8Array): void;
  /** Releases the console. Idempotent. */
  close(): Promise<void>;
}

/**
 * Each verb settles within the driver's own timeout; when the BMC refuses or does not reply, it rejects with a BmcError. Verbs
 * of one BMC may be called concurrently: the driver queues them.
 */
export interface Bmc {
  /** Read-only. */
  identity(): Promise<BmcIdentity>;
  /** The cards of the machine, without the BMC's own. Read-only. Empty: the BMC does not know them. */
  networkCards(): Promise<NetworkCard[]>;
  /** Read-only. */
  powerState(): Promise<PowerState>;
  /** Afterwards the machine is on. No effect when it is on already. */
  powerOn(): Promise<void>;
  /** Afterwards the machine is off, immediately and without an operating system shutdown. No effect when it is off already. */
  powerOff(): Promise<void>;
  /** Power-cycles the machine, or powers it on when it was off. Not idempotent. */
  powerCycle(): Promise<void>;
  /** Resets the machine without a power loss; powers it on when it was off. Not idempotent. */
  powerReset(): Promise<void>;
  /** Requests a shutdown from the operating system, and does not wait for it. No effect when it is off already. */
  powerSoft(): Promise<void>;
  /** Sets the device and reads it back; rejects when another device reads back. Idempotent; does not change the power state. */
  setBoot(choice: BootChoice): Promise<BootReadBack>;
  /** Idempotent. */
  identify(light: IdentifyLight): Promise<void>;
  sensors(): Promise<SensorReading[]>;
  /** Oldest entry first. */
  eventLog(): Promise<LogEntry[]>;
  /** Afterwards the log is empty, except for an entry that records the clearing. */
  clearEventLog(): Promise<void>;
  /** `steal` ends the console session of another client; without it a console in use rejects with `busy`. */
  openConsole(options: { readonly steal: boolean }): Promise<BmcConsole>;
  /**
   * Changes the password of the user that this driver logs in as, and nothing else. The caller must verify the new password with
   * a driver that logs in with it.
   */
  setOwnPassword(password: Secret): Promise<void>;
  /**
   * Inserts the image at an http or https address into the machine's virtual CD drive, and reads back. Another image in that drive
   * is replaced if `replaces` says so; else the verb rejects with `refused`. Idempotent. `unsupported`: there is no such drive.
   */
  insertMedia(image: string, replaces: ImageChoice): Promise<void>;
  /** Empties the virtual drives whose image `which` chooses. Idempotent. */
  ejectMedia(which: ImageChoice): Promise<void>;
  /** Closes the open sessions. Never rejects; call no verb afterwards. */
  close(): Promise<void>;
}
