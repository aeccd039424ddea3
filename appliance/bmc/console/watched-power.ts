// A BMC whose power commands wait for the capture of the console, and tell it that another boot follows.

import type { Bmc } from '../bmc.ts';

export interface PowerWatcher {
  /** Before the machine may start. */
  beforeStart(): Promise<void>;
  /** Its next output is of another boot. */
  expectBoot(): void;
}

export function watchedPower(bmc: Bmc, { beforeStart, expectBoot }: PowerWatcher): Bmc {
  const restarting =
    (restart: () => Promise<void>): (() => Promise<void>) =>
    async () => {
      await beforeStart();
      expectBoot();
      await restart();
    };
  return {
    ...bmc,
    powerOn: async () => {
      await beforeStart();
      await bmc.powerOn();
    },
    powerOff: async () => {
      await bmc.powerOff();
      expectBoot();
    },
    powerCycle: restarting(() => bmc.powerCycle()),
    powerReset: restarting(() => bmc.powerReset()),
  };
}
