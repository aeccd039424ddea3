// One place in the rack: the server that stands there, its BMC and its cables.

import type { Chassis } from './chassis.ts';
import type { RackedMachine } from './definition.ts';
import type { RackBmc } from './rack-bmc.ts';
import type { RecordedServer } from './recorded-server.ts';
import type { SerialLine } from './serial-line.ts';
import type { VirtualServer } from './virtual-server.ts';

export interface RackSlot {
  readonly machine: RackedMachine;
  readonly server: VirtualServer | RecordedServer;
  readonly serial: SerialLine;
  /** Ports of the bridges, one for each card. */
  readonly taps: readonly string[];
  /** Null: the rack has none, or it is not there yet. */
  bmc: RackBmc | null;
  /** It says yes, and leaves the machine as it is. */
  bmcIgnoresPower: boolean;
}

/** The machine as its BMC sees it; whoever presses the machine's own button goes past this. */
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
