// Events of the agents of enrolled nodes: their settings, their version, and the errors in their logs.

import { Type } from 'typebox';
import { ERROR_CLASSES, LOG_ACTIONS } from '../agent-log.ts';
import { nullable, number, rowsOf, text } from './event-row.ts';

const row = rowsOf('identity');
const short = (digest: string): string => digest.slice(0, 12);

export const AGENT_EVENTS = {
  'agent.settings-applied': row(
    'info',
    { api_url: text, ca_sha256: text },
    (data) => `Its agent uses its current settings: ${data.api_url}, authorities ${short(data.ca_sha256)}`,
  ),
  'agent.settings-refused': row('warning', { words: text }, (data) => `Its agent kept its old settings: ${data.words}`),
  'agent.changed': row(
    'info',
    { before: nullable(text), after: text },
    (data) => `Its agent is ${short(data.after)}${data.before === null ? '' : `, before ${short(data.before)}`}`,
  ),
  'agent.error': row(
    'warning',
    {
      action: Type.Enum([...LOG_ACTIONS]),
      error_class: Type.Enum([...ERROR_CLASSES]),
      /** The last line of this action and class. */
      message: text,
      count: number,
    },
    (data) =>
      `Its agent reports an error (${data.action}, ${data.error_class}${data.count > 1 ? `, ${data.count} times` : ''}): ${data.message}`,
  ),
};
