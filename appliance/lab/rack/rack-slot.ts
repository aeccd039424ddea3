// One slot of the rack: the server in it, its BMC and its cables.

import type { Chassis } from './chassis.ts';
import type { RackedMachine } from './definition.ts';
import type { RackBmc } from './rack-bmc.ts';
import type { RackTpm } from './rack-tpm.ts';
import type { RecordedServer } from './recorded-server.ts';
import type { SerialLine } from './serial-line.ts';
import type { VirtualServer } from './virtual-server.ts';

export interface RackSlot {
  readonly machine: RackedMachine;
  readonly server: VirtualServer | RecordedServer;
  readonly serial: SerialLine;
  /** Null: the machine has none, or does not run in this mode. */
  readonly tpm: RackTpm | null;
  /** Bridge ports, one for each card. */
  readonly taps: readonly string[];
  /** Null: the rack has no BMCs, or it has not started yet. */
  bmc: RackBmc | null;
  /** The BMC accepts power commands and does nothing. */
  bmcIgnoresPower: boolean;
}

/** The chassis as its BMC controls it; the buttons on the machine itself bypass this. */
export function bmcView({ server, bmcIgnoresPower }: RackSlot): Chassis {
  if (!bmcIgnoresPower) return server;
  const nothing = async (): Promise<void> => {};
  return {
    isOn: server.isOn,
    bootFlag: server.bootFlag,
    powerOn: nothing,
    powerOff: nothing,
    reset: nothing,
    softOff: nothing,
    setBootFlag: (flag) => server.setBootFlag(flag),
    identify: (seconds) => server.identify(seconds),
  };
}
