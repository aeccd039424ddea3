// Formats an entry of the event log as one line (IPMI v2.0 §29.7, tables 42-2 and 42-3).

import { hexByte } from './bytes.ts';
import type { EventLogRecord, OemRecord, SensorEvent } from './commands/event-log.ts';
import type { SensorRecord } from './sensor-record.ts';
import { sensorKind, sensorState } from './sensor-states.ts';
import { convertReading, unitText } from './sensor-value.ts';

export interface EventText {
  readonly severity: 'ok' | 'warning' | 'critical' | 'unknown';
  readonly message: string;
}

/** `record` names the sensor and converts its readings, if the BMC has a record for it. */
export const eventText = ({ content }: EventLogRecord, record: SensorRecord | null): EventText =>
  content.kind === 'oem' ? oemText(content) : sensorText(content, record);

const oemText = ({ recordType, data }: OemRecord): EventText => ({
  severity: 'unknown',
  message: `OEM entry of type ${hexByte(recordType)}: ${hexText(data)}`,
});

function sensorText(event: SensorEvent, record: SensorRecord | null): EventText {
  const state = sensorState(event.sensorType, event.eventType, event.offset);
  const kind = sensorKind(event.sensorType);
  const name = record ? record.name : `sensor ${hexByte(event.sensorNumber)}`;
  const words = state ? `${state.words}${detail(event, record)}` : unknownState(event);
  return {
    // A deasserted condition is no longer a fault.
    severity: event.asserted ? (state?.severity ?? 'unknown') : 'ok',
    message: `${name} (${kind}): ${event.asserted ? '' : 'no longer '}${words}`,
  };
}

const unknownState = ({ eventType, offset, data }: SensorEvent): string =>
  `state ${offset} of event type ${hexByte(eventType)} (${hexText(data)})`;

const hexText = (data: Uint8Array): string => Array.from(data, (byte) => byte.toString(16).padStart(2, '0')).join(' ');

const THRESHOLD = 0x01;
const SENSOR_SPECIFIC = 0x6f;
const MEMORY = 0x0c;
const SYSTEM_FIRMWARE = 0x0f;

/** What the second and third byte of event data hold: bits 7:6 and 5:4 of the first byte. */
const USE = { trigger: 1, oem: 2, sensorType: 3 } as const;

function detail(event: SensorEvent, record: SensorRecord | null): string {
  const [uses = 0, second = 0, third = 0] = event.data;
  const [secondUse, thirdUse] = [uses >> 6, (uses >> 4) & 0x03];
  if (event.eventType === THRESHOLD) {
    const reading = secondUse === USE.trigger ? ` at ${valueText(second, record)}` : '';
    const threshold = thirdUse === USE.trigger ? ` (threshold ${valueText(third, record)})` : '';
    return reading + threshold;
  }
  if (event.eventType !== SENSOR_SPECIFIC) return '';
  if (event.sensorType === SYSTEM_FIRMWARE && secondUse === USE.sensorType) {
    const steps = event.offset === 0 ? FIRMWARE_ERRORS : FIRMWARE_STEPS;
    return `: ${steps[second] ?? `code ${hexByte(second)}`}`;
  }
  // Vendors put the memory module here, under either use.
  if (event.sensorType === MEMORY && (thirdUse === USE.sensorType || thirdUse === USE.oem)) {
    return `, module ${third}`;
  }
  return '';
}

function valueText(raw: number, record: SensorRecord | null): string {
  const value = record?.conversion ? convertReading(raw, record.conversion) : null;
  return value === null || !record ? `raw ${hexByte(raw)}` : `${value} ${unitText(record.units)}`.trimEnd();
}

/** Table 42-3, sensor type 0F, offset 0. */
const FIRMWARE_ERRORS: readonly string[] = [
  'unspecified',
  'no memory installed',
  'no usable memory',
  'unrecoverable hard disk failure',
  'unrecoverable system board failure',
  'unrecoverable diskette failure',
  'unrecoverable disk controller failure',
  'unrecoverable keyboard failure',
  'removable boot medium not found',
  'unrecoverable video controller failure',
  'no video device',
  'firmware corrupted',
  'processor voltages do not match',
  'processor speeds do not match',
];

/** Table 42-3, sensor type 0F, offsets 1 and 2. */
const FIRMWARE_STEPS: readonly (string | undefined)[] = [
  'unspecified',
  'memory',
  'disks',
  'secondary processors',
  'user authentication',
  'setup entered by the user',
  'USB',
  'PCI',
  'option ROMs',
  'video',
  'cache',
  'SM bus',
  'keyboard controller',
  'management controller',
  'docking',
  'docking enabled',
  'undocking',
  'docking disabled',
  'operating system woken',
  'operating system being started',
  'baseboard',
  undefined,
  'diskette',
  'keyboard test',
  'pointing device test',
  'primary processor',
];
