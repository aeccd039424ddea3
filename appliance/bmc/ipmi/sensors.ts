// Reads all sensors of a BMC.

import { concatBytes } from '../../codecs/ipmi/bytes.ts';
import { getSensorReading, THRESHOLD_STATES } from '../../codecs/ipmi/commands/sensor-reading.ts';
import {
  decodeRecordHeader,
  FIRST_RECORD,
  getSensorRecord,
  NO_MORE_RECORDS,
  RECORD_HEADER_BYTES,
  reserveSensorRepository,
} from '../../codecs/ipmi/commands/sensor-repository.ts';
import { COMPLETION } from '../../codecs/ipmi/completion-code.ts';
import { IpmiDecodeError } from '../../codecs/ipmi/errors.ts';
import { decodeSensorRecord, type SensorRecord } from '../../codecs/ipmi/sensor-record.ts';
import { sensorKind, sensorState } from '../../codecs/ipmi/sensor-states.ts';
import { convertReading, unitText } from '../../codecs/ipmi/sensor-value.ts';
import type { SensorState, Severity } from '../../codecs/ipmi/severity.ts';
import type { SensorReading } from '../bmc.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { wasRefusedWith } from './refusal.ts';

const LARGEST_PIECE = 32;
const SMALLEST_PIECE = 8;
const RESERVATION_TRIES = 3;
const THRESHOLD_EVENTS = 0x01;
/** Several times what the largest machines have; the ids alone would allow 65,534. */
const MOST_RECORDS = 4096;
/** Sensors of other controllers must be read there. */
const BMC_OWNER = 0x20;

/** `records`: the result of `sensorRecords`. */
export async function readSensors(bmc: IpmiCaller, records: readonly SensorRecord[]): Promise<SensorReading[]> {
  const sensors: SensorReading[] = [];
  for (const record of records) {
    if (record.owner === BMC_OWNER && record.ownerLun === 0) sensors.push(await readSensor(bmc, record));
  }
  return sensors;
}

async function readSensor(bmc: IpmiCaller, record: SensorRecord): Promise<SensorReading> {
  const about = { name: record.name, kind: kindOf(record), unit: unitText(record.units) };
  try {
    const { raw, states } = await bmc.call(getSensorReading(record.number));
    const value = raw === null || record.conversion === null ? null : convertReading(raw, record.conversion);
    const asserted = raw === null ? [] : statesOf(record, states);
    const health = raw === null ? 'unknown' : worst(asserted.map(({ severity }) => severity));
    return { ...about, value, health, states: asserted.map(({ words }) => words) };
  } catch (error) {
    // Listed but absent in this machine: an empty slot, a missing power supply.
    if (error instanceof IpmiError && error.reason === 'refused') {
      return { ...about, value: null, health: 'unknown', states: [] };
    }
    throw error;
  }
}

/** Table 43-15: watts, for which IPMI has no sensor type. */
const WATTS = 6;

const kindOf = ({ sensorType, units }: SensorRecord): string =>
  units.base === WATTS ? 'power' : sensorKind(sensorType);

const statesOf = (record: SensorRecord, states: number): SensorState[] =>
  Array.from({ length: 15 }, (_, bit) => bit)
    .filter((bit) => (states & (1 << bit)) !== 0)
    .flatMap((bit) =>
      record.eventType === THRESHOLD_EVENTS ? (THRESHOLD_STATES[bit] ?? []) : discreteState(record, bit),
    );

/** An OEM state says nothing about the health. */
const discreteState = ({ sensorType, eventType }: SensorRecord, bit: number): SensorState =>
  sensorState(sensorType, eventType, bit) ?? { words: `state ${bit}`, severity: 'ok' };

const worst = (severities: readonly Severity[]): Severity =>
  severities.includes('critical') ? 'critical' : severities.includes('warning') ? 'warning' : 'ok';

export async function sensorRecords(bmc: IpmiCaller): Promise<SensorRecord[]> {
  const reader = new RepositoryReader(bmc);
  const records: SensorRecord[] = [];
  const visited = new Set<number>();
  for (let id = FIRST_RECORD; id !== NO_MORE_RECORDS && !visited.has(id); ) {
    visited.add(id);
    if (visited.size > MOST_RECORDS)
      throw new IpmiError('malformed', `more than ${MOST_RECORDS} sensor records; the BMC's list is endless`);
    try {
      const { next, bytes } = await reader.read(id);
      const record = decoded(id, () => decodeSensorRecord(bytes));
      if (record) records.push(record);
      id = next;
    } catch (error) {
      // Dell FC830 references a record after the last one, and then cannot find it.
      if (wasRefusedWith(error, COMPLETION.timeout, COMPLETION.notPresent) && records.length > 0) break;
      throw error;
    }
  }
  return records;
}

function decoded<Result>(id: number, decode: () => Result): Result {
  try {
    return decode();
  } catch (error) {
    if (!(error instanceof IpmiDecodeError)) throw error;
    throw new IpmiError('malformed', `sensor record ${id}: ${error.message}`);
  }
}

/** Reads records in chunks, and reduces their size to what this BMC supports. */
class RepositoryReader {
  readonly #bmc: IpmiCaller;
  #reservation: number | null = null;
  #piece = LARGEST_PIECE;

  constructor(bmc: IpmiCaller) {
    this.#bmc = bmc;
  }

  async read(id: number): Promise<{ next: number; bytes: Uint8Array }> {
    for (let tried = 1; ; tried++) {
      try {
        this.#reservation ??= await this.#bmc.call(reserveSensorRepository());
        return await this.#readReserved(id, this.#reservation);
      } catch (error) {
        if (!wasRefusedWith(error, COMPLETION.reservationLost) || tried === RESERVATION_TRIES) throw error;
        this.#reservation = null;
      }
    }
  }

  async #readReserved(id: number, reservation: number): Promise<{ next: number; bytes: Uint8Array }> {
    const header = { reservation, id, offset: 0, count: RECORD_HEADER_BYTES };
    const head = await this.#bmc.call(getSensorRecord(header));
    const { length } = decoded(id, () => decodeRecordHeader(head.bytes));
    let bytes = head.bytes.subarray(0, RECORD_HEADER_BYTES);
    while (bytes.length < length) {
      const count = Math.min(this.#piece, length - bytes.length);
      try {
        const piece = await this.#bmc.call(getSensorRecord({ reservation, id, offset: bytes.length, count }));
        if (piece.bytes.length === 0) throw new IpmiError('malformed', `record ${id} ends after ${bytes.length} bytes`);
        bytes = concatBytes(bytes, piece.bytes.subarray(0, count));
      } catch (error) {
        const tooMuch = wasRefusedWith(error, COMPLETION.cannotReturnThatMany, COMPLETION.unspecified);
        if (!tooMuch || this.#piece <= SMALLEST_PIECE) throw error;
        this.#piece /= 2;
      }
    }
    return { next: head.next, bytes };
  }
}
