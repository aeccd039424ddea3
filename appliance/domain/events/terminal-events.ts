// Events of terminals on nodes. What was typed and shown is never recorded, only how much.

import { also, nullable, number, rowsOf, text } from './event-row.ts';

const row = rowsOf('terminals');
const about = { terminal: text, allocation: text, user: text };

export const TERMINAL_EVENTS = {
  'terminal.opened': row(
    'info',
    { ...about, waited_ms: number },
    (data, actor) => `Terminal of ${data.user} is opened by ${actor}; the node took ${data.waited_ms} ms`,
  ),
  'terminal.closed': row(
    'info',
    {
      ...about,
      because: text,
      status: nullable(number),
      seconds: number,
      typed_bytes: number,
      shown_bytes: number,
      /** Until the first output; null: there was none. */
      first_output_ms: nullable(number),
    },
    (data) =>
      `Terminal of ${data.user} is closed after ${data.seconds} s: ${data.because}${also(data.status, (status) => ` (status ${status})`)}`,
  ),
  'terminal.refused': row(
    'warning',
    { allocation: nullable(text), reason: text },
    (data, actor) => `Terminal was refused to ${actor}: ${data.reason}`,
  ),
};
