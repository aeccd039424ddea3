// Reads and clears the BMC's event log.

import {
  clearEventLog,
  deleteEventLogEntry,
  type EventLogRecord,
  FIRST_ENTRY,
  getEventLogEntry,
  getEventLogInfo,
  NO_MORE_ENTRIES,
  reserveEventLog,
} from '../../codecs/ipmi/commands/event-log.ts';
import { COMPLETION } from '../../codecs/ipmi/completion-code.ts';
import { eventText } from '../../codecs/ipmi/event-text.ts';
import type { SensorRecord } from '../../codecs/ipmi/sensor-record.ts';
import { MINUTE, SECOND } from '../../domain/instant.ts';
import type { LogEntry } from '../bmc.ts';
import { pause } from '../clock.ts';
import type { IpmiCaller } from './connection.ts';
import { IpmiError } from './ipmi-error.ts';
import { wasRefusedWith } from './refusal.ts';

const ERASURE_LIMIT = MINUTE;
const RESERVATION_TRIES = 3;
/** Several times what the largest logs hold; the ids alone would allow 65,534. */
const MOST_ENTRIES = 8192;

export async function listEvents(bmc: IpmiCaller): Promise<EventLogRecord[]> {
  const { entries } = await bmc.call(getEventLogInfo());
  if (entries === 0) return [];
  const records = new Map<number, EventLogRecord>();
  for (let id = FIRST_ENTRY; id !== NO_MORE_ENTRIES; ) {
    try {
      const { next, record } = await bmc.call(getEventLogEntry(id));
      // The list has a loop: stop here.
      if (records.has(record.id)) break;
      records.set(record.id, record);
      if (records.size > MOST_ENTRIES)
        throw new IpmiError(
          'malformed',
          `the event log has more than ${MOST_ENTRIES} entries; the BMC's list is endless`,
        );
      id = next;
    } catch (error) {
      // Another client cleared the log meanwhile.
      if (wasRefusedWith(error, COMPLETION.notPresent)) break;
      throw error;
    }
  }
  return [...records.values()];
}

/** `sensors` provides the names for the entries. */
export function logEntries(records: readonly EventLogRecord[], sensors: readonly SensorRecord[]): LogEntry[] {
  const byKey = new Map<string, SensorRecord>();
  for (const sensor of sensors) {
    const key = sensorKey(sensor.owner, sensor.number, sensor.sensorType);
    if (!byKey.has(key)) byKey.set(key, sensor);
  }
  return records.map((record) => ({
    id: String(record.id),
    at: record.time === null ? null : record.time * SECOND,
    ...eventText(record, sensorOf(record, byKey)),
  }));
}

const sensorKey = (owner: number, number: number, type: number): string => `${owner} ${number} ${type}`;

function sensorOf({ content }: EventLogRecord, sensors: ReadonlyMap<string, SensorRecord>): SensorRecord | null {
  if (content.kind !== 'sensor') return null;
  // The lower byte of the generator is the owner of the sensor.
  return sensors.get(sensorKey(content.generator & 0xff, content.sensorNumber, content.sensorType)) ?? null;
}

export const deleteEvent = (bmc: IpmiCaller, id: number): Promise<void> =>
  reserved(bmc, async (reservation) => {
    await bmc.call(deleteEventLogEntry(reservation, id));
  });

export const clearEvents = (bmc: IpmiCaller): Promise<void> =>
  reserved(bmc, async (reservation) => {
    const deadline = bmc.clock.now() + ERASURE_LIMIT;
    let done = await bmc.call(clearEventLog(reservation, 'start'));
    while (!done) {
      if (bmc.clock.now() >= deadline)
        throw new IpmiError('contradiction', 'the BMC did not finish clearing its event log within a minute');
      await pause(bmc.clock, SECOND / 2);
      done = await bmc.call(clearEventLog(reservation, 'ask'));
    }
  });

/** Any new event cancels the reservation; then it is requested again. */
async function reserved(bmc: IpmiCaller, work: (reservation: number) => Promise<void>): Promise<void> {
  for (let tried = 1; ; tried++) {
    try {
      return await work(await bmc.call(reserveEventLog()));
    } catch (error) {
      if (!wasRefusedWith(error, COMPLETION.reservationLost) || tried === RESERVATION_TRIES) throw error;
    }
  }
}
