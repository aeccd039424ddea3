// IPMI, with our own simulator and with OpenIPMI's.

import { beforeAll, describe } from 'vitest';
import { BmcGates } from '../../../appliance/bmc/gates.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { paced } from '../../../appliance/bmc/paced.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import { needPackages } from '../../interop/packages.ts';
import { PATIENT, QUICK, RACING, startSimulator, targetOf } from '../ipmi/client-rig.ts';
import { startOpenIpmi } from '../ipmi/openipmi.ts';
import { ADMIN, type SimulatedBmc } from '../ipmi/simulator/simulated-bmc.ts';
import { type BmcUnderTest, type ContractMachine, describeBmc } from './describe-bmc.ts';

const DEVICES: Readonly<Record<number, ReturnType<ContractMachine['boot']>['device']>> = {
  0: 'none',
  1: 'network',
  2: 'disk',
  5: 'cdrom',
  6: 'setup',
  // The device that Supermicro's UEFI firmware uses for its disks; the simulator reports Supermicro.
  9: 'disk',
};

function contractMachine(simulator: SimulatedBmc): ContractMachine {
  const { machine } = simulator;
  const count = (...controls: readonly number[]): number =>
    machine.controls.filter((control) => controls.includes(control)).length;
  return {
    power: () => machine.power,
    switchTo: (power) => {
      machine.power = power;
    },
    starts: () => count(1, 2, 3),
    shutdowns: () => count(5),
    boot: () => {
      const [flags = 0, device = 0] = machine.bootParameters.get(5) ?? [];
      return {
        device: (flags & 0x80) === 0 ? 'none' : (DEVICES[device >> 2] ?? 'none'),
        persistent: (flags & 0x40) !== 0,
        firmware: (flags & 0x20) === 0 ? 'legacy' : 'efi',
      };
    },
    light: () => {
      const [seconds = 0, forced = 0] = machine.identify ?? [];
      return forced === 1 ? 'on' : seconds === 0 ? 'off' : { seconds };
    },
    openSessions: () => simulator.activeSessions,
  };
}

async function simulated(suite: number): Promise<BmcUnderTest> {
  const simulator = await startSimulator({ suites: [suite] });
  let deps = RACING;
  return {
    machine: contractMachine(simulator),
    password: ADMIN.password,
    open: (password = ADMIN.password) =>
      ipmiBmc(targetOf(simulator.port, { ...ADMIN, password }), { efi: true, keepFor: 5000 }, deps),
    unplug: () => {
      deps = QUICK;
      simulator.offline = true;
    },
    holdConsole: () => {
      simulator.console.active = true;
    },
  };
}

describeBmc('IPMI over suite 17', () => simulated(17), ['http-boot']);
describeBmc('IPMI over suite 3', () => simulated(3), ['http-boot']);

const OPENIPMI = { name: 'admin', password: 'lab-password' };

/** The names that its chassis program receives. */
const OPENIPMI_DEVICES: Readonly<Record<string, ReturnType<ContractMachine['boot']>['device']>> = {
  none: 'none',
  pxe: 'network',
  default: 'disk',
  cdrom: 'cdrom',
  bios: 'setup',
};

async function openIpmi(): Promise<BmcUnderTest> {
  const simulator = await startOpenIpmi();
  let deps = PATIENT;
  const count = (...lines: readonly string[]): number =>
    simulator.chassisLog().filter((line) => lines.includes(line)).length;
  return {
    machine: {
      power: () => (simulator.chassis('power') === '1' ? 'on' : 'off'),
      switchTo: (power) => simulator.setChassis('power', power === 'on' ? '1' : '0'),
      starts: () => count('power 1', 'reset 1'),
      shutdowns: () => count('shutdown 1'),
      boot: () => ({
        device: OPENIPMI_DEVICES[simulator.chassis('boot')] ?? 'http',
        persistent: false,
        firmware: null,
      }),
      light: () => 'off',
      openSessions: () => 0,
    },
    password: OPENIPMI.password,
    open: (password = OPENIPMI.password) =>
      ipmiBmc(targetOf(simulator.port, { ...OPENIPMI, password }), { efi: true }, deps),
    unplug: async () => {
      deps = QUICK;
      await simulator.kill();
    },
  };
}

describe('with OpenIPMI', () => {
  beforeAll(() => needPackages(['openipmi']));
  describeBmc('IPMI', openIpmi, ['http-boot', 'console', 'boot-details', 'light-state']);
});

describeBmc('IPMI behind its gate', async () => {
  const under = await simulated(17);
  const gates = new BmcGates(RACING.clock);
  const fingerprint = (password: string): string => gates.fingerprint(ADMIN.name, new Secret(password));
  return {
    ...under,
    open: (password = ADMIN.password) => paced(under.open(password), gates.gate('127.0.0.1'), fingerprint(password)),
  };
}, ['http-boot']);
