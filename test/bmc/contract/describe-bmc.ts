// What bmc.ts promises, asked of every driver alike. A driver names what its protocol or its peer does not have; everything else
// has to hold.

import { describe, onTestFinished } from 'vitest';
import type { Bmc, BootChoice, IdentifyLight } from '../../../appliance/bmc/bmc.ts';
import { describeBoot } from './boot.ts';
import { describeConsole } from './console.ts';
import { describeLogin } from './login.ts';
import { describePower } from './power.ts';
import { describeRecords } from './records.ts';

/** The machine behind the BMC, as somebody who stands before it sees it. */
export interface ContractMachine {
  power(): 'on' | 'off';
  /** As with its button. */
  switchTo(power: 'on' | 'off'): void;
  /** Every time it began to boot because the BMC said so. */
  starts(): number;
  /** How often its operating system was asked to shut down. */
  shutdowns(): number;
  /** What the BMC will tell the firmware; `none` where that is nothing. */
  boot(): Pick<BootChoice, 'device' | 'persistent' | 'firmware'>;
  light(): IdentifyLight;
  openSessions(): number;
}

export interface BmcUnderTest {
  readonly machine: ContractMachine;
  readonly password: string;
  /** A driver of its own, closed after the test. */
  open(password?: string): Bmc;
  /** Nothing answers any more. */
  unplug(): Promise<void> | void;
  /** Somebody else has the console. */
  holdConsole?(): void;
}

export type Lacks =
  | 'http-boot'
  | 'console'
  /** The peer forgets whether a choice is for once, and for which firmware. */
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
  describe(`${name} keeps the promises of a BMC:`, () => {
    describePower(contract);
    describeBoot(contract);
    describeRecords(contract);
    describeConsole(contract);
    describeLogin(contract);
  });
}
