// Everything that a BMC, or whoever answers in its place, can send: RMCP+ packets, handshake messages, command replies and records.

import { decodeCipherSuiteIds } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import { getBootFlags, getBootParameter } from '../../../appliance/codecs/ipmi/commands/boot-options.ts';
import { getChassisStatus } from '../../../appliance/codecs/ipmi/commands/chassis.ts';
import { activateConsole } from '../../../appliance/codecs/ipmi/commands/console-payload.ts';
import { getEventLogEntry, getEventLogInfo } from '../../../appliance/codecs/ipmi/commands/event-log.ts';
import { getFruSize, readFru } from '../../../appliance/codecs/ipmi/commands/fru-storage.ts';
import { getSensorReading } from '../../../appliance/codecs/ipmi/commands/sensor-reading.ts';
import { getSensorRecord, getSensorRepositoryInfo } from '../../../appliance/codecs/ipmi/commands/sensor-repository.ts';
import {
  getChannelAuthentication,
  getChannelCipherSuites,
  getDeviceId,
} from '../../../appliance/codecs/ipmi/commands/session-commands.ts';
import { getUserAccess, getUserName } from '../../../appliance/codecs/ipmi/commands/users.ts';
import { IpmiDecodeError } from '../../../appliance/codecs/ipmi/errors.ts';
import { decodeFru } from '../../../appliance/codecs/ipmi/fru-areas.ts';
import { decodeReply } from '../../../appliance/codecs/ipmi/message.ts';
import { decodeOpenSessionResponse } from '../../../appliance/codecs/ipmi/open-session.ts';
import { decodePacket } from '../../../appliance/codecs/ipmi/packet.ts';
import { decodeRakp2, decodeRakp4 } from '../../../appliance/codecs/ipmi/rakp-messages.ts';
import { decodeSensorRecord } from '../../../appliance/codecs/ipmi/sensor-record.ts';
import { decodeSol } from '../../../appliance/codecs/ipmi/sol-packet.ts';
import { simulatedMachine } from '../../bmc/ipmi/simulator/machine.ts';
import { mutated } from './mutate-bytes.ts';
import type { Random } from './random.ts';
import { ipmiSamples } from './samples.ts';
import type { FuzzTarget, Tried } from './targets.ts';

type Decode = (bytes: Uint8Array) => unknown;
/** The length of the RMCP+ header: handshake messages follow. */
const HEADER_BYTES = 16;

const fill = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => (at * 7) & 0xff);

function decoders(): readonly (readonly [Decode, Uint8Array])[] {
  const captured = ipmiSamples();
  const { sensorRecords, fru } = simulatedMachine([]);
  const body = (at: number): Uint8Array => captured[at]?.subarray(HEADER_BYTES) ?? fill(40);
  return [
    ...captured.map((packet) => [decodePacket, packet] as const),
    [decodeReply, Uint8Array.of(0x81, 0x1c, 0x63, 0x20, 0, 1, 0, 0, 0)],
    [decodeOpenSessionResponse, body(3)],
    [(bytes) => decodeRakp2(bytes, 20), body(5)],
    [(bytes) => decodeRakp2(bytes, 32), body(5)],
    [(bytes) => decodeRakp4(bytes, 12), body(7)],
    ...sensorRecords.map((record) => [decodeSensorRecord, record] as const),
    [decodeFru, fru],
    [decodeSol, fill(64)],
    [decodeCipherSuiteIds, Uint8Array.of(0xc0, 17, 3, 0x44, 0x81)],
    [getDeviceId().decode, fill(15)],
    [getChannelAuthentication('operator', true).decode, fill(8)],
    [getChannelCipherSuites(0).decode, fill(17)],
    [getChassisStatus().decode, fill(4)],
    [getBootFlags().decode, Uint8Array.of(1, 5, 0x80, 4, 0, 0, 0)],
    [getBootParameter('validBitClearing').decode, Uint8Array.of(1, 3, 8)],
    [getEventLogInfo().decode, fill(14)],
    [getEventLogEntry(0).decode, fill(18)],
    [getSensorRepositoryInfo().decode, fill(14)],
    [getSensorRecord({ reservation: 1, id: 1, offset: 0, count: 5 }).decode, fill(7)],
    [getSensorReading(1).decode, fill(4)],
    [getFruSize(0).decode, fill(3)],
    [readFru(0, 0, 4).decode, fill(5)],
    [getUserAccess(2).decode, fill(4)],
    [getUserName(2).decode, fill(16)],
    [activateConsole().decode, fill(12)],
  ];
}

export function ipmiTarget(tried: Tried): FuzzTarget {
  const all = decoders();
  return {
    name: 'IPMI, RMCP+',
    share: 20,
    attempt: (random: Random) => {
      const at = random.below(all.length);
      const [decode, sample] = all[at] ?? [decodePacket, new Uint8Array()];
      const bytes = mutated(sample, random);
      return tried(
        () => `decoder ${at} ${Buffer.from(bytes).toString('hex')}`,
        () => {
          decode(bytes);
          return true;
        },
        (error) => error instanceof IpmiDecodeError,
      );
    },
  };
}
