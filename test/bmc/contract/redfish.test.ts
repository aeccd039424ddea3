// Redfish, with the firmware of each vendor that the mock service simulates.

import type { BootDevice } from '../../../appliance/bmc/bmc.ts';
import { redfishBmc } from '../../../appliance/bmc/redfish/redfish-bmc.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { ADMIN } from '../redfish/mock/machine.ts';
import type { MockServer } from '../redfish/mock/mock-server.ts';
import { VENDORS, type VendorProfile } from '../redfish/mock/vendors.ts';
import { fastDeps, startMock, targetOf } from '../redfish/rig.ts';
import { type BmcUnderTest, type ContractMachine, describeBmc, type Lacks } from './describe-bmc.ts';

const DEVICES: Readonly<Record<string, BootDevice>> = {
  None: 'none',
  Pxe: 'network',
  UefiHttp: 'http',
  Hdd: 'disk',
  Cd: 'cdrom',
  UsbCd: 'cdrom',
  BiosSetup: 'setup',
};

function contractMachine({ service }: MockServer): ContractMachine {
  const { machine } = service;
  return {
    power: () => (machine.power === 'On' ? 'on' : 'off'),
    switchTo: (power) => {
      machine.power = power === 'on' ? 'On' : 'Off';
    },
    starts: () => machine.startedFrom.length,
    shutdowns: () => machine.resets.filter((type) => type === 'GracefulShutdown').length,
    boot: () => ({
      device: machine.boot.enabled === 'Disabled' ? 'none' : (DEVICES[machine.boot.target] ?? 'none'),
      persistent: machine.boot.enabled === 'Continuous',
      firmware: machine.boot.mode === 'UEFI' ? 'efi' : 'legacy',
    }),
    light: () => (machine.light ? 'on' : 'off'),
    openSessions: () => service.sessions.size,
  };
}

async function mocked(vendor: VendorProfile): Promise<BmcUnderTest> {
  const mock = await startMock(vendor);
  const target = targetOf(mock);
  return {
    machine: contractMachine(mock),
    password: ADMIN.password,
    open: (password = ADMIN.password) => redfishBmc({ ...target, password: new Secret(password) }, {}, fastDeps()),
    unplug: () => mock.stop(),
  };
}

/** Timed identify exists only in IPMI; Redfish has no console. */
const ALL: readonly Lacks[] = ['console', 'timed-light'];

const LACKS: Readonly<Partial<Record<keyof typeof VENDORS, readonly Lacks[]>>> = {
  // The mode is read-only there.
  ilo: ['boot-details'],
  openbmc: ['http-boot'],
  xcc: ['persistent-boot'],
};

for (const name of ['supermicro', 'idrac', 'ilo', 'openbmc', 'megarac', 'xcc'] as const) {
  describeBmc(`Redfish of ${name}`, () => mocked(VENDORS[name]), [...ALL, ...(LACKS[name] ?? [])]);
}
