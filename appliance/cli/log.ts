// The log of the appliance: one JSON object per line. Text from machines is in it, and people read it on a terminal.

import pino, { type DestinationStream, type Logger } from 'pino';
import { forScreen } from './terminal.ts';

export const openLog = (level: string, destination: DestinationStream = pino.destination(2)): Logger =>
  pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    // Within JSON the escapes mean the same characters.
    { write: (line) => void destination.write(forScreen(line, false)) },
  );
