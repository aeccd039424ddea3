// The contract of bmc.ts, run against every driver. A driver lists what its protocol or its peer does not have; everything else
// must hold.

import { describe, onTestFinished } from 'vitest';
import type { Bmc, BootChoice, IdentifyLight } from '../../../appliance/bmc/bmc.ts';
import { describeBoot } from './boot.ts';
import { describeConsole } from './console.ts';
import { describeLogin } from './login.ts';
import { describePower } from './power.ts';
import { describeRecords } from './records.ts';

/** The machine behind the BMC, observed without the BMC. */
export interface ContractMachine {
  power(): 'on' | 'off';
  /** As with its power button. */
  switchTo(power: 'on' | 'off'): void;
  /** Number of boots that the BMC caused. */
  starts(): number;
  /** Number of shutdown requests to its operating system. */
  shutdowns(): number;
  /** The boot device that the BMC passes to the firmware; `none` for no override. */
  boot(): Pick<BootChoice, 'device' | 'persistent' | 'firmware'>;
  light(): IdentifyLight;
  openSessions(): number;
}

export interface BmcUnderTest {
  readonly machine: ContractMachine;
  readonly password: string;
  /** A new driver, closed after the test. */
  open(password?: string): Bmc;
  /** The BMC stops replying. */
  unplug(): Promise<void> | void;
  /** Another client has the console. */
  holdConsole?(): void;
}

export type Lacks =
  | 'http-boot'
  | 'console'
  /** The peer does not store whether an override is one-time, nor its boot mode. */
  | 'boot-details'
  | 'persistent-boot'
  | 'light-state'
  | 'timed-light';

export interface Contract {
  readonly start: () => Promise<BmcUnderTest>;
  readonly lacks: ReadonlySet<Lacks>;
}

export function describeBmc(name: string, start: () => Promise<BmcUnderTest>, lacks: readonly Lacks[] = []): void {
  const contract: Contract = {
    lacks: new Set(lacks),
    start: async () => {
      const bmc = await start();
      return {
        ...bmc,
        open: (password) => {
          const driver = bmc.open(password);
          onTestFinished(() => driver.close());
          return driver;
        },
      };
    },
  };
  describe(`${name} fulfils the BMC contract:`, () => {
    describePower(contract);
    describeBoot(contract);
    describeRecords(contract);
    describeConsole(contract);
    describeLogin(contract);
  });
}
