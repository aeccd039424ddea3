// Events of allocations.

import { Type } from 'typebox';
import { ALLOCATION_STATE_NAMES } from '../allocation.ts';
import { also, nullable, rowsOf, text } from './event-row.ts';

const row = rowsOf('allocations');
const state = Type.Enum([...ALLOCATION_STATE_NAMES]);

export const ALLOCATION_EVENTS = {
  'allocation.moved': row(
    'info',
    { allocation: text, user: text, event: text, before: nullable(state), after: state, reason: nullable(text) },
    (data) => `Allocation of ${data.user} is ${data.after}${also(data.reason, (reason) => `: ${reason}`)}`,
  ),
  'allocation.release_failed': row(
    'error',
    { allocation: text, user: text, reason: text },
    (data) => `Allocation of ${data.user} could not be released, and the node stays reserved: ${data.reason}`,
  ),
  'allocation.keys_failed': row(
    'warning',
    { allocation: text, user: text, reason: text },
    (data) => `Allocation of ${data.user} has outdated SSH keys on the node: ${data.reason}`,
  ),
};
