// The sensors of a virtual BMC with thresholds, as commands of OpenIPMI's simulator and as IPMI v2.0 §43.1 full
// sensor records.

interface Threshold {
  readonly nonCritical: number;
  readonly critical: number;
  readonly nonRecoverable: number;
}

interface SimulatedSensor {
  readonly name: string;
  /** Table 42-3. */
  readonly type: number;
  /** Table 43-15. */
  readonly unit: number;
  /** Table 43-13. */
  readonly entity: number;
  /** The value of one step of the raw reading. */
  readonly step: number;
  readonly value: number;
  readonly upper?: Threshold;
  readonly lower?: Threshold;
}

const TEMPERATURE = { type: 0x01, unit: 0x01, step: 1 } as const;
const FAN = { type: 0x04, unit: 0x12, step: 100, entity: 0x1d } as const;

export const RACK_SENSORS: readonly SimulatedSensor[] = [
  {
    ...TEMPERATURE,
    name: 'CPU_Temp',
    entity: 0x03,
    value: 45,
    upper: { nonCritical: 80, critical: 90, nonRecoverable: 100 },
  },
  {
    ...TEMPERATURE,
    name: 'Inlet_Temp',
    entity: 0x37,
    value: 22,
    upper: { nonCritical: 38, critical: 42, nonRecoverable: 47 },
  },
  { ...FAN, name: 'Fan_1', value: 6000, lower: { nonCritical: 2000, critical: 1000, nonRecoverable: 500 } },
];

const RECORD_VERSION = 0x51;
const FULL_SENSOR = 0x01;
const BMC = 0x20;
const ASCII = 0xc0;
/** Table 43-1, bytes 19 and 20: bits 0 to 2 are the lower thresholds, 3 to 5 the upper ones. */
const LOWER = 0x07;
const UPPER = 0x38;

/** `number` from 1. */
export function sensorCommands(sensor: SimulatedSensor, number: number): readonly string[] {
  const at = `0x20 0 ${number}`;
  const raw = (value: number): number => Math.round(value / sensor.step);
  const [upper, lower] = [steps(sensor.upper, raw), steps(sensor.lower, raw)];
  const enabled = `${sensor.upper ? '111' : '000'}${sensor.lower ? '111' : '000'}`;
  const states = sensor.upper ? '000111111000000' : '000000000111111';
  return [
    `sensor_add ${at} ${sensor.type} 1`,
    `sensor_set_value ${at} ${raw(sensor.value)} 0`,
    `sensor_set_threshold ${at} settable ${enabled} ${[...upper, ...lower].join(' ')}`,
    `sensor_set_event_support ${at} enable scanning per-state ${Array(4).fill(states).join(' ')}`,
    `main_sdr_add 0x20 ${sensorRecord(sensor, number).join(' ')}`,
  ];
}

const steps = (threshold: Threshold | undefined, raw: (value: number) => number): readonly number[] =>
  threshold ? [threshold.nonRecoverable, threshold.critical, threshold.nonCritical].map(raw) : [0, 0, 0];

export function sensorRecord(sensor: SimulatedSensor, number: number): readonly number[] {
  const raw = (value: number): number => Math.round(value / sensor.step);
  const thresholds = (sensor.upper ? UPPER : 0) | (sensor.lower ? LOWER : 0);
  const events = sensor.upper ? [0x80, 0x0a] : [0x15, 0x7a];
  const body = [
    ...[BMC, 0, number, sensor.entity, 1],
    // Initialised and scanning; auto re-arm, thresholds are readable and settable.
    ...[0x7f, 0x68, sensor.type, 0x01],
    ...[...events, ...events, thresholds, thresholds],
    // Unsigned, linear: reading × M.
    ...[0, sensor.unit, 0, 0, sensor.step, 0, 0, 0, 0, 0],
    // Nominal reading, normal maximum and minimum are not specified; then the highest and lowest reading.
    ...[0, 0, 0, 0, 0xff, 0],
    ...[...steps(sensor.upper, raw), ...steps(sensor.lower, raw)],
    ...[1, 1, 0, 0, 0],
    ...[ASCII | sensor.name.length, ...Buffer.from(sensor.name, 'latin1')],
  ];
  return [0, 0, RECORD_VERSION, FULL_SENSOR, body.length, ...body];
}
