// Events about receivers of exported events. They are never exported themselves.

import { number, rowsOf, text } from './event-row.ts';

const row = rowsOf('export');

export const EXPORT_EVENTS = {
  'export.lost': row(
    'error',
    { receiver: text, count: number },
    (data) =>
      `Receiver ${data.receiver} did not get ${data.count} events: they were deleted before it could be reached`,
  ),
  'export.dead-letter': row(
    'warning',
    { receiver: text, event: number, reason: text },
    (data) => `Receiver ${data.receiver} refuses event ${data.event}, which is kept as a dead letter: ${data.reason}`,
  ),
};
