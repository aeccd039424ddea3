// The drivers by name, each behind its BMC's gate and with what was learned of that BMC before.

import type { Bmc } from '../bmc/bmc.ts';
import type { DriverName } from '../bmc/boot-methods.ts';
import type { BmcGates } from '../bmc/gates.ts';
import { IPMI_TOOLS } from '../bmc/ipmi/connection.ts';
import { ipmiBmc } from '../bmc/ipmi/ipmi-bmc.ts';
import { paced } from '../bmc/paced.ts';
import { redfishBmc } from '../bmc/redfish/redfish-bmc.ts';
import { redfishTools } from '../bmc/redfish/tools.ts';
import type { Machine } from '../domain/machine.ts';
import type { Door, OpenDriver } from './bmc-desk.ts';
import type { BmcLogin } from './logins.ts';
import type { BmcMemory } from './memory.ts';

export const driverOpener =
  (gates: BmcGates, memory: BmcMemory): OpenDriver =>
  (machine, door, login) => {
    const driver = DRIVERS[door.driver](machine, door, login, memory);
    return paced(driver, gates.gate(door.address), gates.mark(login.username, login.password));
  };

type Driver = (machine: Machine, door: Door, login: BmcLogin, memory: BmcMemory) => Bmc;

const DRIVERS: Readonly<Record<DriverName, Driver>> = {
  // What a boot choice means that does not say: UEFI, as servers have booted for ten years.
  ipmi: (_machine, { address }, { username, password, key }, memory) =>
    ipmiBmc({ address, userName: username, password, bmcKey: key }, { efi: true }, { ...IPMI_TOOLS, memory }),
  // Several machines may be behind one BMC; then this one is told by what is printed on it.
  redfish: ({ spec: { uuid, serial } }, { address }, { username, password }, memory) =>
    redfishBmc({ address, userName: username, password }, { system: uuid ?? serial }, redfishTools(memory)),
};
