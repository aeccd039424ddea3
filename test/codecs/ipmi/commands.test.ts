// The bytes of every request, as in the tables of the specification and in captures of ipmitool.

import { describe, expect, it } from 'vitest';
import { decodeCipherSuiteIds } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import {
  type BootSource,
  clearBootAcknowledge,
  getBootFlags,
  getBootParameter,
  keepBootFlagsBeyondTimeout,
  setBootFlags,
  setBootProgress,
} from '../../../appliance/codecs/ipmi/commands/boot-options.ts';
import { chassisControl, chassisIdentify, getChassisStatus } from '../../../appliance/codecs/ipmi/commands/chassis.ts';
import type { IpmiCommand } from '../../../appliance/codecs/ipmi/commands/command.ts';
import { activateConsole, deactivateConsole } from '../../../appliance/codecs/ipmi/commands/console-payload.ts';
import {
  clearEventLog,
  decodeEventLogRecord,
  deleteEventLogEntry,
  getEventLogEntry,
  reserveEventLog,
} from '../../../appliance/codecs/ipmi/commands/event-log.ts';
import { readFru } from '../../../appliance/codecs/ipmi/commands/fru-storage.ts';
import { getSensorReading } from '../../../appliance/codecs/ipmi/commands/sensor-reading.ts';
import { getSensorRecord, reserveSensorRepository } from '../../../appliance/codecs/ipmi/commands/sensor-repository.ts';
import {
  closeSession,
  getChannelAuthentication,
  getChannelCipherSuites,
  getDeviceId,
  setSessionPrivilege,
} from '../../../appliance/codecs/ipmi/commands/session-commands.ts';
import {
  getUserAccess,
  setUserAccess,
  setUserEnabled,
  setUserName,
  setUserPassword,
  testUserPassword,
} from '../../../appliance/codecs/ipmi/commands/users.ts';
import { completionWords, isPassing } from '../../../appliance/codecs/ipmi/completion-code.ts';
import { IpmiDecodeError, IpmiEncodeError } from '../../../appliance/codecs/ipmi/errors.ts';
import { decodeReply, encodeRequest } from '../../../appliance/codecs/ipmi/message.ts';
import { encodePing } from '../../../appliance/codecs/ipmi/rmcp.ts';
import { refusalOf } from '../../../appliance/codecs/ipmi/status-code.ts';

const ascii = (text: string): Uint8Array => new TextEncoder().encode(text);
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const oneShot = (device: BootSource) => setBootFlags({ valid: true, persistent: false, efi: true, device });

const REQUESTS: readonly (readonly [string, IpmiCommand<unknown>, string])[] = [
  ['capabilities for IPMI 2.0', getChannelAuthentication('administrator', true), '06 38 8e04'],
  ['capabilities for IPMI 1.5', getChannelAuthentication('operator', false), '06 38 0e03'],
  ['the second piece of cipher suites', getChannelCipherSuites(1), '06 54 0e0081'],
  ['the device', getDeviceId(), '06 01 '],
  ['administrator', setSessionPrivilege('administrator'), '06 3b 04'],
  ['operator', setSessionPrivilege('operator'), '06 3b 03'],
  ['close session 0x402', closeSession(0x402), '06 3c 02040000'],
  ['chassis status', getChassisStatus(), '00 01 '],
  ['power off', chassisControl('off'), '00 02 00'],
  ['power on', chassisControl('on'), '00 02 01'],
  ['power cycle', chassisControl('cycle'), '00 02 02'],
  ['reset', chassisControl('reset'), '00 02 03'],
  ['soft off', chassisControl('soft'), '00 02 05'],
  ['identify for 30 s', chassisIdentify({ seconds: 30 }), '00 04 1e'],
  ['identify indefinitely', chassisIdentify('on'), '00 04 0001'],
  ['identify off', chassisIdentify('off'), '00 04 00'],
  ['boot options in progress', setBootProgress('in-progress'), '00 08 0001'],
  ['boot options committed', setBootProgress('commit'), '00 08 0002'],
  ['boot options complete', setBootProgress('complete'), '00 08 0000'],
  ['boot flags that do not expire after 60 s', keepBootFlagsBeyondTimeout(), '00 08 0308'],
  ['boot acknowledge', clearBootAcknowledge(), '00 08 040101'],
  ['network once, UEFI', oneShot('network'), '00 08 05a004000000'],
  ['disk once, UEFI', oneShot('disk'), '00 08 05a008000000'],
  ['setup once, UEFI', oneShot('setup'), '00 08 05a018000000'],
  [
    'network always, UEFI',
    setBootFlags({ valid: true, persistent: true, efi: true, device: 'network' }),
    '00 08 05e004000000',
  ],
  ['no override', setBootFlags({ valid: false, persistent: false, efi: false, device: 'none' }), '00 08 050000000000'],
  ['read the flags', getBootFlags(), '00 09 050000'],
  ['read the progress', getBootParameter('setInProgress'), '00 09 000000'],
  ['reserve the log', reserveEventLog(), '0a 42 '],
  ['a log entry', getEventLogEntry(0x1234), '0a 43 0000341200ff'],
  ['delete a log entry', deleteEventLogEntry(0x0102, 3), '0a 46 02010300'],
  ['clear the log', clearEventLog(0x0102, 'start'), '0a 47 0201434c52aa'],
  ['ask about clearing', clearEventLog(0x0102, 'ask'), '0a 47 0201434c5200'],
  ['reserve the sensors', reserveSensorRepository(), '0a 22 '],
  [
    'a piece of a record',
    getSensorRecord({ reservation: 0x0102, id: 0x0304, offset: 5, count: 32 }),
    '0a 23 020104030520',
  ],
  ['a reading', getSensorReading(0x30), '04 2d 30'],
  ['a piece of a FRU', readFru(0, 0x110, 16), '0a 11 00100110'],
  ['user access', getUserAccess(2), '06 44 0e02'],
  ['set user access', setUserAccess(2, 'operator', true), '06 43 9e020300'],
  ['enable a user', setUserEnabled(3, true), '06 47 0301'],
  ['a short password', setUserPassword(3, ascii('abc')), `06 47 0302616263${'00'.repeat(13)}`],
  ['a long password', setUserPassword(3, ascii('a'.repeat(20))), `06 47 8302${'61'.repeat(20)}`],
  ['test a password', testUserPassword(3, ascii('abc')), `06 47 0303616263${'00'.repeat(13)}`],
  ['a user name', setUserName(3, 'coldiron'), `06 45 03${hex(ascii('coldiron'))}${'00'.repeat(8)}`],
  ['the console on', activateConsole(), '06 48 0101c0000000'],
  ['the console off', deactivateConsole(), '06 49 010100000000'],
];

describe('requests', () => {
  it.each(REQUESTS)('%s', (_name, { netFn, command, data }, expected) => {
    const number = (value: number) => value.toString(16).padStart(2, '0');
    expect(`${number(netFn)} ${number(command)} ${hex(data)}`).toBe(expected);
  });

  it('are framed as ipmitool frames them', () => {
    const command = getChannelAuthentication('administrator', true);
    expect(hex(encodeRequest({ ...command, sequence: 0 }))).toBe('2018c88100388e04b5');
    expect(hex(encodePing(0))).toBe('0600ff06000011be80000000');
  });

  it('are not repeatable when a repetition would have a further effect', () => {
    expect(chassisControl('reset').repeatable).toBe(false);
    expect(chassisControl('cycle').repeatable).toBe(false);
    expect(chassisControl('on').repeatable).toBe(true);
  });

  it('reject what cannot be encoded', () => {
    expect(() => setUserPassword(3, ascii('a'.repeat(21)))).toThrow(IpmiEncodeError);
    expect(() => setUserName(3, 'a'.repeat(17))).toThrow('at most 16');
    expect(() => getUserAccess(64)).toThrow('user number');
  });
});

describe('answers', () => {
  it('are rejected for another boot parameter than the requested one', () => {
    expect(() => getBootFlags().decode(Uint8Array.of(1, 4, 0, 0))).toThrow(IpmiDecodeError);
  });

  it('mark boot parameters that the BMC reports as invalid', () => {
    expect(getBootFlags().decode(Uint8Array.of(1, 0x85, 0xe0, 0x08, 0, 0, 0))).toEqual({
      usable: false,
      value: { valid: true, persistent: true, efi: true, device: 'disk' },
    });
  });

  it('with wrong checksums are decoded and marked', () => {
    const right = Uint8Array.of(0x81, 0x1c, 0x63, 0x20, 0x04, 0x01, 0x00, 0xdb);
    expect(decodeReply(right)).toMatchObject({ netFn: 6, command: 1, sequence: 1, checksumsRight: true });
    expect(decodeReply(right.with(7, 0x00))).toMatchObject({ netFn: 6, command: 1, checksumsRight: false });
  });

  it('are rejected when they are requests', () => {
    expect(() => decodeReply(Uint8Array.of(0x81, 0x18, 0x67, 0x20, 0x04, 0x01, 0x00, 0xdb))).toThrow('request');
  });

  it('list cipher suites without those of OEMs', () => {
    const records = Uint8Array.of(0xc0, 3, 1, 0x41, 0x81, 0xc1, 0x80, 1, 2, 3, 1, 0x41, 0xc0, 17, 3, 0x44, 0x81);
    expect(decodeCipherSuiteIds(records)).toEqual([3, 17]);
  });

  it('have three kinds of log records', () => {
    const record = (type: number) => Uint8Array.of(9, 0, type, 0, 0, 0, 0x65, 0x20, 0, 4, 1, 0x30, 0x81, 0x59, 0, 0);
    expect(decodeEventLogRecord(record(0x02))).toMatchObject({
      id: 9,
      time: 0x65000000,
      content: { kind: 'sensor', sensorType: 1, sensorNumber: 0x30, eventType: 1, asserted: false, offset: 9 },
    });
    expect(decodeEventLogRecord(record(0xc5))).toMatchObject({ time: 0x65000000, content: { kind: 'oem' } });
    expect(decodeEventLogRecord(record(0xe0))).toMatchObject({ time: null, content: { recordType: 0xe0 } });
    expect(decodeEventLogRecord(record(0x02).with(6, 0x01)).time).toBeNull();
  });
});

describe('code texts', () => {
  it('describe a completion code, command-specific meanings first', () => {
    expect(completionWords(0xc0)).toBe('the BMC is busy (0xc0)');
    expect(completionWords(0x80, setBootProgress('commit').codes)).toContain('does not know this boot parameter');
    expect(completionWords(0x93)).toContain('0x93');
  });

  it('mark transient completion codes', () => {
    expect([0xc0, 0xc3, 0xd2].every(isPassing)).toBe(true);
    expect([0x00, 0xc1, 0xcc, 0xd4, 0xd5].some(isPassing)).toBe(false);
  });

  it('classify the rejections of a handshake', () => {
    expect(refusalOf(0x01).kind).toBe('resources');
    expect(refusalOf(0x0d).kind).toBe('user');
    expect(refusalOf(0x11).kind).toBe('cipher-suite');
    expect(refusalOf(0xee)).toMatchObject({ kind: 'protocol' });
  });
});
