import { describe, expect, it } from 'vitest';
import { decodeEventLogRecord, type EventLogRecord } from '../../../appliance/codecs/ipmi/commands/event-log.ts';
import { eventText } from '../../../appliance/codecs/ipmi/event-text.ts';
import { decodeSensorRecord } from '../../../appliance/codecs/ipmi/sensor-record.ts';
import { sensorKind, sensorState } from '../../../appliance/codecs/ipmi/sensor-states.ts';
import { simulatedMachine } from '../../bmc/ipmi/simulator/machine.ts';

const event = (sensorType: number, eventType: number, ...data: readonly number[]): EventLogRecord =>
  decodeEventLogRecord(Uint8Array.of(1, 0, 2, 0, 0, 0, 0x65, 0x20, 0, 4, sensorType, 0x30, eventType, ...data));

describe('an entry of the event log', () => {
  it.each([
    ['a failed power supply', event(0x08, 0x6f, 0x01, 0xff, 0xff), 'critical', 'sensor 0x30 (power supply): failed'],
    ['a deasserted event', event(0x08, 0xef, 0x01, 0xff, 0xff), 'ok', 'sensor 0x30 (power supply): no longer failed'],
    [
      'memory with its module',
      event(0x0c, 0x6f, 0x20, 0xff, 0x05),
      'warning',
      'sensor 0x30 (memory): correctable error, module 5',
    ],
    ['memory without', event(0x0c, 0x6f, 0x01, 0xff, 0xff), 'critical', 'sensor 0x30 (memory): uncorrectable error'],
    [
      'a POST error',
      event(0x0f, 0x6f, 0xc0, 0x01, 0xff),
      'critical',
      'sensor 0x30 (system firmware): POST error: no memory installed',
    ],
    ['POST progress', event(0x0f, 0x6f, 0xc2, 0x07, 0xff), 'ok', 'sensor 0x30 (system firmware): progress: PCI'],
    [
      'POST progress with an unknown code',
      event(0x0f, 0x6f, 0xc2, 0x55, 0xff),
      'ok',
      'sensor 0x30 (system firmware): progress: code 0x55',
    ],
    ['no PXE server', event(0x1e, 0x6f, 0x02, 0xff, 0xff), 'critical', 'sensor 0x30 (boot error): no PXE server found'],
    [
      'a lost redundancy',
      event(0x08, 0x0b, 0x01, 0xff, 0xff),
      'warning',
      'sensor 0x30 (power supply): redundancy lost',
    ],
    [
      'a threshold without its sensor',
      event(0x01, 0x01, 0x59, 0x50, 0x4b),
      'critical',
      'sensor 0x30 (temperature): upper critical, going high at raw 0x50 (threshold raw 0x4b)',
    ],
    [
      "a vendor's state",
      event(0x08, 0x70, 0x03, 0x11, 0x22),
      'unknown',
      'sensor 0x30 (power supply): state 3 of event type 0x70 (03 11 22)',
    ],
    [
      "a vendor's sensor",
      event(0xc0, 0x6f, 0x01, 0x00, 0x00),
      'unknown',
      'sensor 0x30 (other): state 1 of event type 0x6f (01 00 00)',
    ],
  ])('tells %s', (_what, record, severity, message) => {
    expect(eventText(record, null)).toEqual({ severity, message });
  });

  it('has the name and unit of its sensor, if known', () => {
    const inlet = decodeSensorRecord(simulatedMachine([]).sensorRecords[0] ?? new Uint8Array());
    expect(eventText(event(0x01, 0x01, 0x59, 0x50, 0x4b), inlet)).toEqual({
      severity: 'critical',
      message: 'Inlet Temp (temperature): upper critical, going high at 40 °C (threshold 37.5 °C)',
    });
  });

  it('shows the bytes of an OEM entry', () => {
    const record = decodeEventLogRecord(Uint8Array.of(1, 0, 0xc5, 0, 0, 0, 0x65, 1, 2, 3, 4, 5, 6, 7, 8, 9));
    expect(eventText(record, null)).toEqual({
      severity: 'unknown',
      message: 'OEM entry of type 0xc5: 01 02 03 04 05 06 07 08 09',
    });
  });
});

describe('the tables', () => {
  it('have every sensor type of the specification and no other', () => {
    const known = Array.from({ length: 256 }, (_, type) => type).filter((type) => sensorKind(type) !== 'other');
    expect(known).toEqual(Array.from({ length: 44 }, (_, index) => index + 1).filter((type) => type !== 0x0b));
  });

  it.each([
    [0x07, 0x6f, 12],
    [0x22, 0x6f, 14],
    [0x23, 0x6f, 8],
    [0x01, 0x01, 11],
    [0x01, 0x07, 8],
    [0x01, 0x0b, 7],
  ])('of sensor type %i and event type %i end at state %i', (type, eventType, last) => {
    expect(sensorState(type, eventType, last)).not.toBeNull();
    expect(sensorState(type, eventType, last + 1)).toBeNull();
  });
});
