// The status of a rack at one moment.

import type { BmcMode } from '../../domain/network.ts';
import type { BootFlag } from './chassis.ts';
import type { FirmwareKind } from './firmware.ts';
import type { BmcState } from './rack-bmc.ts';
import type { ActiveFault } from './rack-faults.ts';
import type { RackSlot } from './rack-slot.ts';
import type { TpmState } from './rack-tpm.ts';

export interface MachineStatus {
  readonly name: string;
  readonly firmware: FirmwareKind;
  readonly mac: string;
  readonly power: 'on' | 'off';
  readonly pid: number | null;
  readonly bootFlag: BootFlag;
  readonly light: boolean;
  readonly bmc: { readonly address: string; readonly state: BmcState; readonly pid: number | null } | null;
  /** What is in its socket from the next power-on; null: the machine has no TPM. */
  readonly tpm: { readonly state: TpmState; readonly pid: number | null } | null;
  readonly console: string;
}

export interface RackStatus {
  readonly up: true;
  readonly namespace: string;
  readonly site: string;
  readonly bmcMode: BmcMode;
  readonly siteFile: string;
  readonly machines: readonly MachineStatus[];
  readonly faults: readonly ActiveFault[];
}

export function slotStatus({ machine, server, serial, bmc, tpm }: RackSlot): MachineStatus {
  return {
    name: machine.name,
    firmware: machine.firmware,
    mac: machine.cards[0],
    power: server.isOn ? 'on' : 'off',
    pid: server.pid,
    bootFlag: server.bootFlag,
    light: server.lightIsOn,
    bmc: bmc && { address: bmc.address, state: bmc.state, pid: bmc.pid },
    tpm: tpm && { state: tpm.state, pid: tpm.pid },
    console: serial.file,
  };
}
