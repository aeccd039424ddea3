// A BMC that speaks IPMI, in the verbs of bmc.ts.

import { chassisIdentify } from '../../codecs/ipmi/commands/chassis.ts';
import type { FruInventory } from '../../codecs/ipmi/fru-areas.ts';
import { SECOND } from '../../domain/instant.ts';
import type { Bmc, BmcConsole } from '../bmc.ts';
import { ipmiChoice, setBootDevice } from './boot-device.ts';
import { IpmiConnection, type IpmiTarget, type IpmiTools } from './connection.ts';
import { type ConsoleOptions, openConsole } from './console.ts';
import { clearEvents, listEvents, logEntries } from './event-log.ts';
import { readHardware } from './hardware.ts';
import { readIdentity } from './identity.ts';
import { KeptSession } from './kept-session.ts';
import { powerCycle, powerOff, powerOn, powerReset, powerSoft, powerStatus } from './power.ts';
import { orRefused } from './refusal.ts';
import { sensorCatalogue } from './sensor-catalogue.ts';
import { readSensors } from './sensors.ts';
import { type BmcUser, listUsers, setPasswordOf } from './users.ts';

/** Long enough for the next verb of whoever works on this machine, short enough not to hold one of the BMC's few slots. */
const KEEP_FOR = 10 * SECOND;

export interface IpmiBmc extends Bmc {
  hardware(): Promise<FruInventory | null>;
  users(): Promise<BmcUser[]>;
}

export interface IpmiBmcSettings {
  /** How the machine's firmware boots: what a boot choice that does not say is taken to mean. */
  readonly efi: boolean;
  /** How long a session is kept for the next verb; 0 closes it before the verb settles. */
  readonly keepFor?: number;
}

export function ipmiBmc(target: IpmiTarget, settings: IpmiBmcSettings, tools: IpmiTools): IpmiBmc {
  const session = new KeptSession(target, tools, settings.keepFor ?? KEEP_FOR);
  const catalogue = sensorCatalogue();
  const consoles = new Set<BmcConsole>();
  return {
    identity: () => session.ask(readIdentity),
    powerState: () => session.ask(powerStatus),
    powerOn: () => session.ask(powerOn),
    powerOff: () => session.ask(powerOff),
    powerCycle: () => session.ask(powerCycle),
    powerReset: () => session.ask(powerReset),
    powerSoft: () => session.ask(powerSoft),
    setBoot: (choice) => session.ask((bmc) => setBootDevice(bmc, ipmiChoice(choice, settings.efi))),
    identify: (light) => session.ask((bmc) => bmc.call(chassisIdentify(light))),
    sensors: () => session.ask(async (bmc) => readSensors(bmc, await catalogue(bmc))),
    eventLog: () =>
      session.ask(async (bmc) => logEntries(await listEvents(bmc), (await orRefused(catalogue(bmc))) ?? [])),
    clearEventLog: () => session.ask(clearEvents),
    openConsole: async (options) => {
      const opened = await consoleWithSession(target, tools, options, () => consoles.delete(opened));
      consoles.add(opened);
      return opened;
    },
    setOwnPassword: (password) => session.ask((bmc) => setPasswordOf(bmc, target.userName, password)),
    hardware: () => session.ask(readHardware),
    users: () => session.ask(listUsers),
    close: async () => {
      await Promise.all([...Array.from(consoles, (open) => open.close()), session.close()]);
    },
  };
}

/** A console lasts for hours: it has a session of its own, so that nothing waits for it. */
async function consoleWithSession(
  target: IpmiTarget,
  tools: IpmiTools,
  options: ConsoleOptions,
  onClose: () => void,
): Promise<BmcConsole> {
  const connection = await IpmiConnection.open(target, tools);
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
