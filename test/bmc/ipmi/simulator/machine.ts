// The machine behind a simulated BMC: the state that its commands read and change.

import { checksum } from '../../../../appliance/codecs/ipmi/message.ts';

export interface SimulatedUser {
  name: string;
  password: string;
  privilege: number;
  enabled: boolean;
}

export interface SimulatedMachine {
  power: 'on' | 'off';
  /** Chassis Control values in order of arrival. */
  readonly controls: number[];
  /** Called at every boot, with the boot flags at that time. */
  onStart: (flags: readonly number[]) => void;
  readonly bootParameters: Map<number, readonly number[]>;
  events: Uint8Array[];
  readonly sensorRecords: readonly Uint8Array[];
  readonly readings: Map<number, number>;
  fru: Uint8Array;
  readonly users: SimulatedUser[];
  identify: readonly number[] | null;
  reservation: number;
}

const text = (value: string): number[] => Array.from(value, (character) => character.charCodeAt(0));
const field = (value: string): number[] => [0xc0 | value.length, ...text(value)];

export function simulatedMachine(users: readonly SimulatedUser[]): SimulatedMachine {
  return {
    power: 'off',
    controls: [],
    onStart: () => undefined,
    bootParameters: new Map([[5, [0, 0, 0, 0, 0]]]),
    events: [eventRecord(1, 0x65000000, 0x12, 0x01, 0x6f, 0x01), eventRecord(2, 0x65000010, 0x01, 0x30, 0x81, 0x59)],
    sensorRecords: [
      // Inlet: 0.5 °C a step; Vcore: 0.01 V a step, 1 V up from there; Fan: 100 rpm a step; Watchdog: states only.
      fullRecord(1, 'Inlet Temp', 0x30, 0x01, 0x01, { m: 5, b: 0, bExponent: 0, rExponent: -1, unit: 1 }),
      fullRecord(2, 'Vcore', 0x31, 0x02, 0x01, { m: 1, b: 1, bExponent: 2, rExponent: -2, unit: 4 }),
      fullRecord(3, 'Fan 1', 0x32, 0x04, 0x01, { m: 100, b: 0, bExponent: 0, rExponent: 0, unit: 18 }),
      compactRecord(4, 'Watchdog', 0x33, 0x23, 0x6f),
    ],
    readings: new Map([
      [0x30, 46],
      [0x31, 20],
      [0x32, 84],
      [0x33, 0],
    ]),
    fru: fruImage(),
    users: users.map((user) => ({ ...user })),
    identify: null,
    reservation: 0,
  };
}

function eventRecord(id: number, time: number, type: number, sensor: number, event: number, data: number): Uint8Array {
  const stamp = [0, 8, 16, 24].map((shift) => (time >>> shift) & 0xff);
  return Uint8Array.of(id, 0, 0x02, ...stamp, 0x20, 0x00, 0x04, type, sensor, event, data, 0xff, 0xff);
}

interface Factors {
  readonly m: number;
  readonly b: number;
  readonly bExponent: number;
  readonly rExponent: number;
  readonly unit: number;
}

function fullRecord(id: number, name: string, sensor: number, type: number, event: number, f: Factors): Uint8Array {
  const exponents = ((f.rExponent & 0x0f) << 4) | (f.bExponent & 0x0f);
  const body = [
    ...[0x20, 0x00, sensor, 0x07, 0x01, 0x7f, 0x68, type, event, 0x80, 0x0a, 0x80, 0x0a, 0x38, 0x38],
    ...[
      0x00,
      f.unit,
      0x00,
      0x00,
      f.m & 0xff,
      ((f.m >> 8) & 3) << 6,
      f.b & 0xff,
      ((f.b >> 8) & 3) << 6,
      0,
      exponents,
      0,
    ],
    ...[0x2d, 0x50, 0x14, 0xff, 0x00, 0xc8, 0xbe, 0xb4, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00],
    ...field(name),
  ];
  return Uint8Array.of(id, 0, 0x51, 0x01, body.length, ...body);
}

function compactRecord(id: number, name: string, sensor: number, type: number, event: number): Uint8Array {
  const body = [
    ...[0x20, 0x00, sensor, 0x07, 0x01, 0x7f, 0x68, type, event, 0x00, 0x00, 0x00, 0x00, 0x0f, 0x00],
    ...[0xc0, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00],
    ...field(name),
  ];
  return Uint8Array.of(id, 0, 0x51, 0x02, body.length, ...body);
}

function area(...content: readonly number[]): number[] {
  const units = Math.ceil((content.length + 3) / 8);
  const bytes = [0x01, units, ...content];
  while (bytes.length < units * 8 - 1) bytes.push(0);
  return [...bytes, checksum(Uint8Array.from(bytes))];
}

/** A FRU image with this serial number, and free fields in its product area. */
export const fruWithSerial = (serial: string, ...custom: readonly string[]): Uint8Array => fruImage(serial, custom);

function fruImage(serial = 'SN42', custom: readonly string[] = []): Uint8Array {
  // Minutes since 1996: 2023-11-14 00:00.
  const minutes = (Date.UTC(2023, 10, 14) - Date.UTC(1996, 0, 1)) / 60_000;
  const date = [minutes & 0xff, (minutes >> 8) & 0xff, (minutes >> 16) & 0xff];
  const chassis = area(0x17, ...field('CH-2U'), ...field('CH000017'), 0xc1);
  const board = area(
    0x00,
    ...date,
    ...field('Ironworks'),
    ...field('IW-Board'),
    ...field('BRD123'),
    ...field('PN-9'),
    ...field(''),
    0xc1,
  );
  const product = area(
    0x00,
    ...field('Ironworks'),
    ...field('Anvil 2'),
    ...field('A2-16'),
    ...field('v3'),
    ...field(serial),
    ...field('tag'),
    ...field(''),
    ...custom.flatMap(field),
    0xc1,
  );
  const header = [0x01, 0, 1, 1 + chassis.length / 8, 1 + (chassis.length + board.length) / 8, 0, 0];
  return Uint8Array.of(...header, checksum(Uint8Array.from(header)), ...chassis, ...board, ...product);
}
