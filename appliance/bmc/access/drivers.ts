// The drivers by name, each behind the gate of its BMC and with the memory about that BMC.

import type { Machine } from '../../domain/machine.ts';
import type { Bmc } from '../bmc.ts';
import type { DriverName } from '../boot-methods.ts';
import type { BmcGates } from '../gates.ts';
import { IPMI_DEPS } from '../ipmi/connection.ts';
import { ipmiBmc } from '../ipmi/ipmi-bmc.ts';
import { type OnBmcCall, paced } from '../paced.ts';
import { redfishDeps } from '../redfish/deps.ts';
import { redfishBmc } from '../redfish/redfish-bmc.ts';
import type { DriverAddress, OpenDriver } from './bmc-opener.ts';
import type { BmcLogin } from './logins.ts';
import type { BmcMemory } from './memory.ts';

export type OnDriverCall = (driver: DriverName, ...call: Parameters<OnBmcCall>) => void;

export const driverOpener =
  (gates: BmcGates, memory: BmcMemory, onCall: OnDriverCall = () => undefined): OpenDriver =>
  (machine, at, login) => {
    const driver = DRIVERS[at.driver](machine, at, login, memory);
    const onEach: OnBmcCall = (verb, result, ms) => onCall(at.driver, verb, result, ms);
    return paced(driver, gates.gate(at.address), gates.fingerprint(login.username, login.password), onEach);
  };

type Driver = (machine: Machine, at: DriverAddress, login: BmcLogin, memory: BmcMemory) => Bmc;

const DRIVERS: Readonly<Record<DriverName, Driver>> = {
  // A boot choice without a mode means UEFI, as servers have booted for ten years.
  ipmi: (_machine, { address }, { username, password, key }, memory) =>
    ipmiBmc({ address, userName: username, password, bmcKey: key }, { efi: true }, { ...IPMI_DEPS, memory }),
  // Several machines may share one BMC; then the UUID or serial number selects this one.
  redfish: ({ spec: { uuid, serial } }, { address }, { username, password }, memory) =>
    redfishBmc({ address, userName: username, password }, { system: uuid ?? serial }, redfishDeps(memory)),
};
