// A machine and its BMC in memory, whose firmware honours only the boot choices that a test selects.

import type { Bmc, BmcConsole, BmcIdentity, BootChoice, PowerState } from '../../appliance/bmc/bmc.ts';
import { BmcError, type BmcFailure } from '../../appliance/bmc/bmc-error.ts';
import { recorderBmc } from '../../appliance/bmc/recorder.ts';

export const FIRMWARE_ORDER: BootChoice = { device: 'none', persistent: false, firmware: null };

export class FakeMachine {
  power: PowerState = 'on';
  boot: BootChoice = FIRMWARE_ORDER;
  /** The boot choice of each boot. */
  readonly starts: BootChoice[] = [];
  readonly verbs: string[] = [];
  obeys: (choice: BootChoice) => boolean = () => true;
  onStart: (from: BootChoice) => void = () => undefined;
  /** Open consoles. */
  consoles = 0;
  onPowerOff: () => void = () => undefined;
  /** How long the BMC takes for each verb. */
  pause: (() => Promise<void>) | null = null;
  /** Verbs that fail, and their failure. */
  readonly fails = new Map<string, BmcFailure>();

  start(): void {
    const from = this.obeys(this.boot) ? this.boot : FIRMWARE_ORDER;
    if (!this.boot.persistent && from === this.boot) this.boot = FIRMWARE_ORDER;
    this.power = 'on';
    this.starts.push(from);
    this.onStart(from);
  }
}

export function fakeBmc(machine: FakeMachine, identity: Partial<BmcIdentity> = {}, name = 'bmc'): Bmc {
  const verb = async <Result>(what: string, work: () => Result): Promise<Result> => {
    machine.verbs.push(what);
    if (machine.pause) await machine.pause();
    const failure = machine.fails.get(`${name} ${what}`) ?? machine.fails.get(what);
    if (failure) throw new BmcError(failure, `${name} fails: ${failure}`);
    return work();
  };
  return {
    ...recorderBmc(() => undefined),
    identity: () =>
      verb('identity', () => ({ vendor: 'Ironworks', product: 'Anvil 2', firmware: '1.0', serial: null, ...identity })),
    powerState: () => verb('powerState', () => machine.power),
    powerOn: () =>
      verb('powerOn', () => {
        if (machine.power !== 'on') machine.start();
      }),
    powerOff: () =>
      verb('powerOff', () => {
        machine.power = 'off';
        machine.onPowerOff();
      }),
    powerCycle: () =>
      verb('powerCycle', () => {
        machine.start();
      }),
    setBoot: (choice) =>
      verb('setBoot', () => {
        machine.boot = choice;
        return { device: choice.device, differences: [] };
      }),
    openConsole: () => verb('openConsole', () => fakeConsole(machine)),
  };
}

/** Silent until it is closed. */
function fakeConsole(machine: FakeMachine): BmcConsole {
  const closed = Promise.withResolvers<void>();
  machine.consoles += 1;
  void closed.promise.then(() => {
    machine.consoles -= 1;
  });
  return {
    write: () => undefined,
    close: async () => closed.resolve(),
    [Symbol.asyncIterator]: () => ({ next: () => closed.promise.then(() => ({ done: true, value: undefined })) }),
  };
}
