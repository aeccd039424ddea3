// Truncated at every byte, and made of random bytes: a reply decodes or raises a decode error, and nothing else happens.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeCipherSuiteIds } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import { getBootFlags, getBootParameter } from '../../../appliance/codecs/ipmi/commands/boot-options.ts';
import { getChassisStatus } from '../../../appliance/codecs/ipmi/commands/chassis.ts';
import { activateConsole } from '../../../appliance/codecs/ipmi/commands/console-payload.ts';
import { clearEventLog, getEventLogEntry, getEventLogInfo } from '../../../appliance/codecs/ipmi/commands/event-log.ts';
import { getFruSize, readFru } from '../../../appliance/codecs/ipmi/commands/fru-storage.ts';
import { getSensorReading } from '../../../appliance/codecs/ipmi/commands/sensor-reading.ts';
import { getSensorRecord, getSensorRepositoryInfo } from '../../../appliance/codecs/ipmi/commands/sensor-repository.ts';
import {
  getChannelAuthentication,
  getChannelCipherSuites,
  getDeviceId,
  setSessionPrivilege,
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
import { readPcap } from '../../captures/read-pcap.ts';

const machine = simulatedMachine([]);
const captured = readPcap(new URL('../../captures/ipmi/ipmitool-suite-3-power-and-bootdev.pcap', import.meta.url));
const fill = (length: number): Uint8Array => Uint8Array.from({ length }, (_, at) => (at * 7) & 0xff);

/** Name, decoder, an example, and the length below which it is incomplete. */
const DECODERS: readonly (readonly [string, (bytes: Uint8Array) => unknown, Uint8Array, number])[] = [
  ['a packet', decodePacket, captured[8]?.payload ?? fill(0), 48],
  ['a reply', decodeReply, Uint8Array.of(0x81, 0x1c, 0x63, 0x20, 0, 1, 0, 0, 0), 8],
  ['Open Session', decodeOpenSessionResponse, captured[3]?.payload.subarray(16) ?? fill(0), 36],
  ['RAKP 2', (bytes) => decodeRakp2(bytes, 20), captured[5]?.payload.subarray(16) ?? fill(0), 60],
  ['RAKP 4', (bytes) => decodeRakp4(bytes, 12), captured[7]?.payload.subarray(16) ?? fill(0), 20],
  ['a full sensor record', decodeSensorRecord, machine.sensorRecords[0] ?? fill(0), 48],
  ['a compact sensor record', decodeSensorRecord, machine.sensorRecords[3] ?? fill(0), 32],
  ['a FRU', decodeFru, machine.fru, machine.fru.length],
  ['a SOL packet', decodeSol, fill(8), 4],
  ['cipher suites', decodeCipherSuiteIds, Uint8Array.of(0xc0, 17, 3, 0x44, 0x81), 0],
  ['Get Device ID', getDeviceId().decode, fill(11), 11],
  ['capabilities', getChannelAuthentication('operator', true).decode, fill(8), 4],
  ['a piece of cipher suites', getChannelCipherSuites(0).decode, fill(17), 1],
  ['a privilege', setSessionPrivilege('operator').decode, fill(1), 1],
  ['a chassis status', getChassisStatus().decode, fill(4), 3],
  ['boot flags', getBootFlags().decode, Uint8Array.of(1, 5, 0x80, 4, 0, 0, 0), 4],
  ['a boot parameter', getBootParameter('validBitClearing').decode, Uint8Array.of(1, 3, 8), 2],
  ['log info', getEventLogInfo().decode, fill(14), 14],
  ['a log entry', getEventLogEntry(0).decode, fill(18), 18],
  ['erasure progress', clearEventLog(1, 'ask').decode, fill(1), 1],
  ['repository info', getSensorRepositoryInfo().decode, fill(14), 13],
  ['a record piece', getSensorRecord({ reservation: 1, id: 1, offset: 0, count: 5 }).decode, fill(7), 2],
  ['a sensor reading', getSensorReading(1).decode, fill(4), 2],
  ['a FRU size', getFruSize(0).decode, fill(3), 3],
  ['FRU bytes', readFru(0, 0, 4).decode, fill(5), 1],
  ['user access', getUserAccess(2).decode, fill(4), 4],
  ['a user name', getUserName(2).decode, fill(16), 0],
  ['a console activation', activateConsole().decode, fill(12), 10],
];

describe.each(DECODERS)('%s', (_name, decode, example, needed) => {
  it('decodes when complete', () => {
    expect(() => decode(example)).not.toThrow();
  });

  it('is rejected by field name at every length that is too short', () => {
    for (let length = 0; length < Math.min(needed, example.length); length++) {
      expect(() => decode(example.subarray(0, length)), `cut to ${length}`).toThrow(IpmiDecodeError);
    }
  });

  it('decodes or rejects random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 128 }), (noise) => {
        try {
          decode(noise);
        } catch (error) {
          expect(error).toBeInstanceOf(IpmiDecodeError);
        }
      }),
    );
  });
});
