// The two files of OpenIPMI's simulator for one machine: LAN interface and users, and the simulated BMC.

import type { Secret } from '../../domain/secret.ts';
import { bmcAddress, inBandPort } from './addresses.ts';
import type { RackedMachine } from './definition.ts';
import { encodeProduct } from './fru.ts';
import { RACK_SENSORS, sensorCommands } from './sensors.ts';

/** The only user. The simulator lets every user log in with any privilege, so a user with fewer privileges would not differ. */
export const BMC_USER = 'admin';
/** The simulator's limit. */
export const MAX_PASSWORD_LENGTH = 16;

export interface BmcPlaces {
  /** A program and its arguments that handles power, boot device and identify light. */
  readonly chassisCommand: string;
  /** A device that carries the machine's console. */
  readonly serialPort: string;
}

/** ipmi_lan(5). Legacy logins stay off: only RMCP+ can prove a password. */
export function lanConfig(machine: RackedMachine, password: Secret, places: BmcPlaces): string {
  const levels = ['callback', 'user', 'operator', 'admin'];
  return lines([
    `name "${machine.name}"`,
    'set_working_mc 0x20',
    'startlan 1',
    `  addr ${bmcAddress(machine.number)} 623`,
    '  priv_limit admin',
    ...levels.map((level) => `  allowed_auths_${level} md5`),
    `  guid ${machine.uuid.replaceAll('-', '')}`,
    'endlan',
    `chassis_control "${places.chassisCommand}"`,
    ...(machine.inBandBmc ? [`serial kcs 127.0.0.1 ${inBandPort(machine.number)} codec VM`] : []),
    `sol "${places.serialPort}" 115200 history=65536`,
    `user 2 true "${BMC_USER}" "${Buffer.from(password.reveal()).toString('latin1')}" admin 10 md5`,
  ]);
}

/** We have no IANA enterprise number; the FRU inventory names the manufacturer. */
const MANUFACTURER = 0;
const PRODUCT = 1;
const FRU_BYTES = 256;

/** ipmi_sim_cmd(5). */
export function simulatedBmc(machine: RackedMachine): string {
  const fru = encodeProduct({ manufacturer: 'Coldiron', name: 'Virtual machine', serial: machine.serial });
  return lines([
    'mc_setbmc 0x20',
    // Firmware 2.10, with a chassis, an event log, sensors and a FRU inventory.
    `mc_add 0x20 0x20 no-device-sdrs 0x23 2 0x10 0x9f ${MANUFACTURER} ${PRODUCT} persist_sdr`,
    'sel_enable 0x20 1000 0x0a',
    `mc_add_fru_data 0x20 0 ${FRU_BYTES} data ${fru.join(' ')}`,
    ...RACK_SENSORS.flatMap((sensor, index) => sensorCommands(sensor, index + 1)),
    // System event (type 12h), "OEM system boot event": the log of a new machine is not empty either.
    'sel_add 0x20 0x02 0 0 0 0x65 0x20 0 4 0x12 1 0x6f 1 0 0',
    'mc_enable 0x20',
  ]);
}

const lines = (all: readonly string[]): string => `${all.join('\n')}\n`;
