// The IPMI driver: implements the verbs of bmc.ts.

import { chassisIdentify } from '../../codecs/ipmi/commands/chassis.ts';
import type { FruInventory } from '../../codecs/ipmi/fru-areas.ts';
import { SECOND } from '../../domain/instant.ts';
import type { Bmc, BmcConsole } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import { ipmiChoice, setBootDevice } from './boot-device.ts';
import { IpmiConnection, type IpmiDeps, type IpmiTarget } from './connection.ts';
import { type ConsoleOptions, openConsole } from './console.ts';
import { clearEvents, listEvents, logEntries } from './event-log.ts';
import { readHardware } from './hardware.ts';
import { readIdentity } from './identity.ts';
import { KeptSession } from './kept-session.ts';
import { readNetworkCards } from './network-cards.ts';
import { powerCycle, powerOff, powerOn, powerReset, powerSoft, powerStatus } from './power.ts';
import { orRefused } from './refusal.ts';
import { sensorCatalogue } from './sensor-catalogue.ts';
import { readSensors } from './sensors.ts';
import { type BmcUser, listUsers, setPasswordOf } from './users.ts';

/** Long enough for the next verb of the same operation, short enough not to block one of the BMC's few session slots. */
const KEEP_FOR = 10 * SECOND;

export interface IpmiBmc extends Bmc {
  hardware(): Promise<FruInventory | null>;
  users(): Promise<BmcUser[]>;
}

export interface IpmiBmcSettings {
  /** The boot mode of the machine's firmware, for a boot choice without a mode. */
  readonly efi: boolean;
  /** How long an idle session stays open for the next verb; 0 closes it before the verb settles. */
  readonly keepFor?: number;
}

export function ipmiBmc(target: IpmiTarget, settings: IpmiBmcSettings, deps: IpmiDeps): IpmiBmc {
  const session = new KeptSession(target, deps, settings.keepFor ?? KEEP_FOR);
  const catalogue = sensorCatalogue();
  const consoles = new Set<BmcConsole>();
  return {
    identity: () => session.run(readIdentity),
    networkCards: () => session.run(readNetworkCards),
    powerState: () => session.run(powerStatus),
    powerOn: () => session.run(powerOn),
    powerOff: () => session.run(powerOff),
    powerCycle: () => session.run(powerCycle),
    powerReset: () => session.run(powerReset),
    powerSoft: () => session.run(powerSoft),
    setBoot: (choice) => session.run((bmc) => setBootDevice(bmc, ipmiChoice(choice, settings.efi))),
    identify: (light) => session.run((bmc) => bmc.call(chassisIdentify(light))),
    sensors: () => session.run(async (bmc) => readSensors(bmc, await catalogue(bmc))),
    eventLog: () =>
      session.run(async (bmc) => logEntries(await listEvents(bmc), (await orRefused(catalogue(bmc))) ?? [])),
    clearEventLog: () => session.run(clearEvents),
    openConsole: async (options) => {
      const opened = await consoleWithSession(target, deps, options, () => consoles.delete(opened));
      consoles.add(opened);
      return opened;
    },
    setOwnPassword: (password) => session.run((bmc) => setPasswordOf(bmc, target.userName, password)),
    hardware: () => session.run(readHardware),
    insertMedia: () => Promise.reject(noDrives(target.address)),
    ejectMedia: () => Promise.reject(noDrives(target.address)),
    users: () => session.run(listUsers),
    close: async () => {
      await Promise.all([...Array.from(consoles, (open) => open.close()), session.close()]);
    },
  };
}

const noDrives = (address: string): BmcError =>
  new BmcError('unsupported', `BMC ${address}: IPMI has no virtual drives; Redfish has them`);

/** A console lasts for hours: it has its own session, so that no verb waits for it. */
async function consoleWithSession(
  target: IpmiTarget,
  deps: IpmiDeps,
  options: ConsoleOptions,
  onClose: () => void,
): Promise<BmcConsole> {
  const connection = await IpmiConnection.open(target, deps);
  try {
    const stream = await openConsole(connection, options);
    return {
      write: (characters) => stream.write(characters),
      [Symbol.asyncIterator]: () => stream[Symbol.asyncIterator](),
      close: async () => {
        onClose();
        await stream.close();
        await connection.close();
      },
    };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
