// A BMC whose power states are noted: what the BMC says about a machine is compared with what reaches the appliance from it.

import { type Instant, SECOND } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Bmc, PowerState } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';

export interface PowerWitness {
  /** Its node has reported lately, so that it matters when exactly it is off. */
  expects(machine: Machine): boolean;
  /** The appliance switched it off: it was on, and reads back off. */
  cut(machine: Machine): void;
  /** Resolves when everything that follows from it is committed. */
  reading(machine: Machine, power: PowerState): Promise<void>;
  /**
   * Before a machine is switched on that the appliance switched off: resolves after its node would have reported, if another
   * machine used its identity; never later than `most` milliseconds after the power was cut, and at once when `signal` is
   * aborted.
   */
  heldOff(machine: Machine, most: Instant, signal?: AbortSignal): Promise<void>;
  /** The appliance is about to switch it on. */
  started(machine: Machine): void;
}

export const NO_WITNESS: PowerWitness = {
  expects: () => false,
  cut: () => undefined,
  reading: async () => undefined,
  heldOff: async () => undefined,
  started: () => undefined,
};

/** An operator waits for the reply. */
const MOST_FOR_OPERATORS = 70 * SECOND;

export function witnessed(bmc: Bmc, machine: Machine, witness: () => PowerWitness): Bmc {
  const read = async (): Promise<PowerState> => {
    const power = await bmc.powerState();
    await witness().reading(machine, power);
    return power;
  };
  const powerOff = async (): Promise<void> => {
    const wasOn = witness().expects(machine) && (await bmc.powerState()) === 'on';
    await bmc.powerOff();
    if (wasOn) witness().cut(machine);
    else await witness().reading(machine, 'off');
  };
  const powerOn = async (): Promise<void> => {
    await witness().heldOff(machine, MOST_FOR_OPERATORS);
    // A report in the meantime counts only if the machine is still off.
    if (witness().expects(machine)) await read();
    witness().started(machine);
    await bmc.powerOn();
  };
  return {
    ...bmc,
    powerState: read,
    powerOff,
    powerOn,
    powerCycle: async () => {
      if (!witness().expects(machine)) {
        witness().started(machine);
        return bmc.powerCycle();
      }
      try {
        await powerOff();
      } catch (error) {
        // It can only do both in one step, which shows no power state in between.
        if (!(error instanceof BmcError) || error.failure !== 'unsupported') throw error;
        witness().started(machine);
        return bmc.powerCycle();
      }
      await powerOn();
    },
    powerReset: () => {
      witness().started(machine);
      return bmc.powerReset();
    },
  };
}
