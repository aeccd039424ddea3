// BMC answers as the API shows them.

import type { Static } from 'typebox';
import type { ConsoleLog } from '../../bmc/access/bmc-service.ts';
import type { LogEntry, SensorReading } from '../../bmc/bmc.ts';
import type { ConsoleLogAnswer, EventLogEntry, Quirk, Sensor } from '../../contract/schemas/bmc.ts';
import { instantText } from '../../domain/instant.ts';
import { plainLine } from '../../domain/plain-line.ts';
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

export const consoleLogView = ({
  captured,
  lines,
  unfinished,
}: ConsoleLog): Omit<Static<typeof ConsoleLogAnswer>, 'node' | 'boot'> => ({
  captured,
  lines: lines.map(({ at, text }) => ({ at: instantText(at), text: plainLine(text) })),
  unfinished: unfinished === '' ? null : plainLine(unfinished),
});
