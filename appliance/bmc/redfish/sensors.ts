// Sensors: one collection in new services, Thermal and Power in older ones.

import type { SensorReading } from '../bmc.ts';
import type { RedfishCaller } from './caller.ts';
import { memberResources } from './collection.ts';
import { healthOf } from './health.ts';
import { isRefusal, oneLine } from './refusal.ts';
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

/** For a BMC that announces $expand and refuses it: the members are then read one by one. */
async function unlessRefused<Result>(request: Promise<Result>): Promise<Result | null> {
  try {
    return await request;
  } catch (error) {
    if (!isRefusal(error)) throw error;
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

/** UCUM units, as Redfish writes them, and their usual form. */
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
    name: oneLine(textAt(sensor, 'Name') ?? textAt(sensor, 'FanName') ?? textAt(sensor, 'MemberId') ?? 'unnamed'),
    kind,
    value: absent ? null : value,
    unit: UNITS.get(unit) ?? oneLine(unit),
    health: healthOf(textAt(sensor, 'Status', 'Health')),
    // Every working sensor reports Enabled.
    states: state === null || state === 'Enabled' ? [] : [oneLine(state)],
  };
}

/** The lists of Thermal and Power, and the property with the value. */
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
      const entries = listAt(resource, place.list).slice(0, MOST_SENSORS).map(asResource);
      readings.push(...entries.flatMap((sensor) => (sensor === null ? [] : oldReading(sensor, place))));
    }
  }
  return readings;
}

function oldReading(sensor: Resource, place: (typeof LISTS)[number]): SensorReading {
  // Some fans report percent; the oldest schema has another name for the value.
  const units = textAt(sensor, 'ReadingUnits');
  return reading(sensor, {
    kind: place.kind,
    value: numberAt(sensor, place.value) ?? numberAt(sensor, 'ReadingRPM'),
    unit: units === 'Percent' ? '%' : (units ?? place.unit),
  });
}
