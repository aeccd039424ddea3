// Events of SSH keys and key sets. They name keys by id; `coldiron keys list` has the fingerprints.

import { nullable, number, rowsOf, text } from './event-row.ts';

const row = rowsOf('allocations');

export const ACCESS_EVENTS = {
  'access.changed': row(
    'info',
    { object: text, change: text, version: number },
    (data, actor) => `Access: ${actor} changed ${data.object}: ${data.change}`,
  ),
  'access.refused': row(
    'warning',
    { object: text, request: text, reason: text },
    (data, actor) => `Access: ${actor} was refused to change ${data.object} (${data.request}): ${data.reason}`,
  ),
  'access.not_validated': row(
    'warning',
    { object: text, key: text, host: text, username: text, reason: text, host_key: nullable(text) },
    (data) => `Access: the new key of ${data.object} does not open ${data.username}@${data.host}: ${data.reason}`,
  ),
};
