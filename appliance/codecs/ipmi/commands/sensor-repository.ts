// IPMI v2.0 §33: sensor data records (SDR), read in pieces because many BMCs cannot send a whole record.

import { ByteReader, uint16Bytes } from '../bytes.ts';
import { type IpmiCommand, ipmiCommand, NET_FN } from './command.ts';

export const FIRST_RECORD = 0x0000;
export const NO_MORE_RECORDS = 0xffff;
export const RECORD_HEADER_BYTES = 5;

export interface SensorRepositoryInfo {
  readonly records: number;
  readonly lastAddition: number;
  readonly lastErasure: number;
}

export const getSensorRepositoryInfo = (): IpmiCommand<SensorRepositoryInfo> =>
  ipmiCommand({
    name: 'Get SDR Repository Info',
    netFn: NET_FN.storage,
    command: 0x20,
    decode: (reader) => {
      reader.uint8('SDR version');
      const records = reader.uint16('record count');
      reader.uint16('free space');
      return {
        records,
        lastAddition: reader.uint32('most recent addition'),
        lastErasure: reader.uint32('most recent erase'),
      };
    },
  });

export const reserveSensorRepository = (): IpmiCommand<number> =>
  ipmiCommand({
    name: 'Reserve SDR Repository',
    netFn: NET_FN.storage,
    command: 0x22,
    decode: (reader) => reader.uint16('reservation'),
  });

export interface RecordPiece {
  readonly reservation: number;
  readonly id: number;
  readonly offset: number;
  readonly count: number;
}

export const getSensorRecord = (piece: RecordPiece): IpmiCommand<{ next: number; bytes: Uint8Array }> =>
  ipmiCommand({
    name: 'Get SDR',
    netFn: NET_FN.storage,
    command: 0x23,
    data: [...uint16Bytes(piece.reservation), ...uint16Bytes(piece.id), piece.offset, piece.count],
    decode: (reader) => ({ next: reader.uint16('next record id'), bytes: reader.rest() }),
  });

export interface RecordHeader {
  readonly id: number;
  readonly type: number;
  /** Includes this header. */
  readonly length: number;
}

export function decodeRecordHeader(bytes: Uint8Array): RecordHeader {
  const reader = new ByteReader(bytes);
  const id = reader.uint16('record id');
  reader.uint8('SDR version');
  const type = reader.uint8('record type');
  return { id, type, length: RECORD_HEADER_BYTES + reader.uint8('record length') };
}
