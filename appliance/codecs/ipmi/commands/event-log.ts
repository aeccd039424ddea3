// IPMI v2.0 §31, §32: the system event log (SEL) of the BMC.

import { ByteReader, uint16Bytes } from '../bytes.ts';
import { type IpmiCommand, ipmiCommand, NET_FN } from './command.ts';

export const FIRST_ENTRY = 0x0000;
/** As the id of the next entry: there is no next entry. */
export const NO_MORE_ENTRIES = 0xffff;
const WHOLE_RECORD = 0xff;
const RECORD_BYTES = 16;
/** §31.1 note: times below this are seconds since the BMC started, not since 1970. */
const COUNTED_FROM_START_BELOW = 0x2000_0000;
const NO_TIME = 0xffff_ffff;

export interface EventLogInfo {
  readonly entries: number;
  readonly freeBytes: number;
  readonly overflowed: boolean;
  readonly canReserve: boolean;
  readonly canDelete: boolean;
}

export const getEventLogInfo = (): IpmiCommand<EventLogInfo> =>
  ipmiCommand({
    name: 'Get SEL Info',
    netFn: NET_FN.storage,
    command: 0x40,
    codes: { 129: 'the log is being erased' },
    decode: (reader) => {
      reader.uint8('SEL version');
      const entries = reader.uint16('entries');
      const freeBytes = reader.uint16('free space');
      reader.bytes(8, 'timestamps');
      const support = reader.uint8('operation support');
      return {
        entries,
        freeBytes,
        overflowed: (support & 0x80) !== 0,
        canDelete: (support & 0x08) !== 0,
        canReserve: (support & 0x02) !== 0,
      };
    },
  });

/** Valid until an entry is added to or removed from the log. */
export const reserveEventLog = (): IpmiCommand<number> =>
  ipmiCommand({
    name: 'Reserve SEL',
    netFn: NET_FN.storage,
    command: 0x42,
    codes: { 129: 'the log is being erased' },
    decode: (reader) => reader.uint16('reservation'),
  });

export interface EventLogRecord {
  readonly id: number;
  /** Seconds since 1970. Null: the record has no time, or the BMC's clock was not set. */
  readonly time: number | null;
  readonly content: SensorEvent | OemRecord;
}

export interface SensorEvent {
  readonly kind: 'sensor';
  readonly generator: number;
  readonly sensorType: number;
  readonly sensorNumber: number;
  readonly eventType: number;
  /** False: the condition was deasserted. */
  readonly asserted: boolean;
  /** Index into the states of the event type. */
  readonly offset: number;
  readonly data: Uint8Array;
}

export interface OemRecord {
  readonly kind: 'oem';
  readonly recordType: number;
  readonly data: Uint8Array;
}

export const getEventLogEntry = (id: number): IpmiCommand<{ next: number; record: EventLogRecord }> =>
  ipmiCommand({
    name: 'Get SEL Entry',
    netFn: NET_FN.storage,
    command: 0x43,
    // Reading whole records needs no reservation (§31.5).
    data: [0, 0, ...uint16Bytes(id), 0, WHOLE_RECORD],
    codes: { 129: 'the log is being erased' },
    decode: (reader) => ({
      next: reader.uint16('next record id'),
      record: decodeEventLogRecord(reader.bytes(RECORD_BYTES, 'record')),
    }),
  });

export function decodeEventLogRecord(bytes: Uint8Array): EventLogRecord {
  const reader = new ByteReader(bytes);
  const id = reader.uint16('record id');
  const recordType = reader.uint8('record type');
  // §32.1: E0 to FF are OEM records without a time.
  if (recordType >= 0xe0)
    return { id, time: null, content: { kind: 'oem', recordType, data: reader.bytes(13, 'data') } };
  const seconds = reader.uint32('timestamp');
  const time = seconds < COUNTED_FROM_START_BELOW || seconds === NO_TIME ? null : seconds;
  if (recordType >= 0xc0) return { id, time, content: { kind: 'oem', recordType, data: reader.bytes(9, 'data') } };
  const generator = reader.uint16('generator id');
  reader.uint8('event message format');
  const sensorType = reader.uint8('sensor type');
  const sensorNumber = reader.uint8('sensor number');
  const type = reader.uint8('event type');
  const data = reader.bytes(3, 'event data');
  return {
    id,
    time,
    content: {
      kind: 'sensor',
      generator,
      sensorType,
      sensorNumber,
      eventType: type & 0x7f,
      asserted: (type & 0x80) === 0,
      offset: (data[0] ?? 0) & 0x0f,
      data,
    },
  };
}

export const deleteEventLogEntry = (reservation: number, id: number): IpmiCommand<number> =>
  ipmiCommand({
    name: 'Delete SEL Entry',
    netFn: NET_FN.storage,
    command: 0x46,
    data: [...uint16Bytes(reservation), ...uint16Bytes(id)],
    codes: { 128: 'this kind of record cannot be deleted', 129: 'the log is being erased' },
    decode: (reader) => reader.uint16('deleted record id'),
  });

const CLEAR_PHASE = { start: 0xaa, ask: 0x00 } as const;

/** True when the log is erased. A large log takes a while; poll with phase `ask`. */
export const clearEventLog = (reservation: number, phase: keyof typeof CLEAR_PHASE): IpmiCommand<boolean> =>
  ipmiCommand({
    name: 'Clear SEL',
    netFn: NET_FN.storage,
    command: 0x47,
    data: [...uint16Bytes(reservation), 0x43, 0x4c, 0x52, CLEAR_PHASE[phase]],
    decode: (reader) => (reader.uint8('erasure progress') & 0x0f) === 1,
  });
