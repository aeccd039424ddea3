// BMC answers as the API shows them.

import type { Static } from 'typebox';
import type { LogEntry, SensorReading } from '../../bmc/bmc.ts';
import type { EventLogEntry, Quirk, Sensor } from '../../contract/schemas/bmc.ts';
import { instantText } from '../../domain/instant.ts';
import type { BmcQuirk } from '../../store/bmc-store.ts';
import { timeText } from './time-text.ts';

export const sensorView = ({ states, ...rest }: SensorReading): Static<typeof Sensor> => ({
  ...rest,
  states: [...states],
});

export const logEntryView = ({ at, ...rest }: LogEntry): Static<typeof EventLogEntry> => ({
  ...rest,
  at: timeText(at),
});

export const quirkView = ({ lastAt, ...rest }: BmcQuirk): Static<typeof Quirk.schema> => ({
  ...rest,
  last_at: instantText(lastAt),
});
