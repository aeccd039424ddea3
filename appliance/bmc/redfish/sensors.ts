// What the machine feels: one collection of sensors where the service is new, Thermal and Power where it is not.

import type { SensorReading } from '../bmc.ts';
import type { RedfishCaller } from './caller.ts';
import { memberResources } from './collection.ts';
import { healthOf } from './health.ts';
import { inOneLine, isAnswerNo } from './refusal.ts';
import { asResource, booleanAt, linkAt, listAt, numberAt, type Resource, textAt } from './resource.ts';

const MOST_SENSORS = 1000;

export async function sensors(bmc: RedfishCaller): Promise<SensorReading[]> {
  const { chassisPaths, root } = await bmc.service();
  const expands = booleanAt(root, 'ProtocolFeaturesSupported', 'ExpandQuery', 'NoLinks') === true;
  const readings: SensorReading[] = [];
  for (const path of chassisPaths) {
    const chassis = (await bmc.read(path)).resource;
    const collection = linkAt(chassis, 'Sensors');
    const found = collection === null ? [] : await sensorCollection(bmc, collection, expands);
    readings.push(...(found.length > 0 ? found : await thermalAndPower(bmc, chassis)));
  }
  return readings;
}

async function sensorCollection(bmc: RedfishCaller, path: string, expands: boolean): Promise<SensorReading[]> {
  const expanded = expands ? await unlessRefused(memberResources(bmc, `${path}?$expand=.`, MOST_SENSORS)) : null;
  return (expanded ?? (await memberResources(bmc, path, MOST_SENSORS))).map((sensor) =>
    reading(sensor, {
      kind: KINDS.get(textAt(sensor, 'ReadingType')) ?? 'other',
      value: numberAt(sensor, 'Reading'),
      unit: textAt(sensor, 'ReadingUnits') ?? '',
    }),
  );
}

/** Who promises to expand and does not is asked for one after the other. */
async function unlessRefused<Result>(asking: Promise<Result>): Promise<Result | null> {
  try {
    return await asking;
  } catch (error) {
    if (!isAnswerNo(error)) throw error;
    return null;
  }
}

/** Sensor.ReadingType (DSP2046). */
const KINDS: ReadonlyMap<string | null, string> = new Map([
  ['Temperature', 'temperature'],
  ['Voltage', 'voltage'],
  ['Current', 'current'],
  ['Power', 'power'],
  ['EnergykWh', 'energy'],
  ['EnergyJoules', 'energy'],
  ['Rotational', 'fan'],
  ['AirFlow', 'airflow'],
  ['AirFlowCMM', 'airflow'],
  ['Humidity', 'humidity'],
  ['Percent', 'percent'],
  ['Frequency', 'frequency'],
  ['Altitude', 'altitude'],
]);

/** UCUM, as Redfish writes units, and what people write. */
const UNITS: ReadonlyMap<string | null, string> = new Map([
  ['Cel', '°C'],
  ['{rev}/min', 'RPM'],
  ['kW.h', 'kWh'],
  ['[cft_i]/min', 'CFM'],
]);

interface Measured {
  readonly kind: string;
  readonly value: number | null;
  readonly unit: string;
}

function reading(sensor: Resource, { kind, value, unit }: Measured): SensorReading {
  const state = textAt(sensor, 'Status', 'State');
  const absent = state === 'Absent' || state === 'UnavailableOffline' || state === 'Disabled';
  return {
    name: inOneLine(textAt(sensor, 'Name') ?? textAt(sensor, 'FanName') ?? textAt(sensor, 'MemberId') ?? 'unnamed'),
    kind,
    value: absent ? null : value,
    unit: UNITS.get(unit) ?? inOneLine(unit),
    health: healthOf(textAt(sensor, 'Status', 'Health')),
    // Enabled is what every working sensor says.
    states: state === null || state === 'Enabled' ? [] : [inOneLine(state)],
  };
}

/** The lists of Thermal and Power, and where in each entry the value is. */
const LISTS = [
  { of: 'Thermal', list: 'Temperatures', kind: 'temperature', value: 'ReadingCelsius', unit: 'Cel' },
  { of: 'Thermal', list: 'Fans', kind: 'fan', value: 'Reading', unit: 'RPM' },
  { of: 'Power', list: 'Voltages', kind: 'voltage', value: 'ReadingVolts', unit: 'V' },
  { of: 'Power', list: 'PowerControl', kind: 'power', value: 'PowerConsumedWatts', unit: 'W' },
  { of: 'Power', list: 'PowerSupplies', kind: 'power', value: 'LastPowerOutputWatts', unit: 'W' },
] as const;

async function thermalAndPower(bmc: RedfishCaller, chassis: Resource): Promise<SensorReading[]> {
  const readings: SensorReading[] = [];
  for (const part of ['Thermal', 'Power'] as const) {
    const path = linkAt(chassis, part);
    const resource = path === null ? null : (await bmc.read(path)).resource;
    for (const place of LISTS.filter(({ of }) => of === part)) {
      const entries = listAt(resource, place.list).map(asResource);
      readings.push(...entries.flatMap((sensor) => (sensor === null ? [] : oldReading(sensor, place))));
    }
  }
  return readings;
}

function oldReading(sensor: Resource, place: (typeof LISTS)[number]): SensorReading {
  // Fans say it in percent where they like; and the oldest had another name for the value.
  const told = textAt(sensor, 'ReadingUnits');
  return reading(sensor, {
    kind: place.kind,
    value: numberAt(sensor, place.value) ?? numberAt(sensor, 'ReadingRPM'),
    unit: told === 'Percent' ? '%' : (told ?? place.unit),
  });
}
