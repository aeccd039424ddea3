// Events of the appliance about itself: a problem that begins, and one that is over.

import { rowsOf, text } from './event-row.ts';

const row = rowsOf('self-check');

/** `problem`: the id of an `ApplianceProblem`. */
const problem = { problem: text, subject: text, words: text };

export const APPLIANCE_EVENTS = {
  'appliance.problem': row(
    'error',
    { ...problem, next_step: text },
    (data) => `The appliance has a problem: ${data.words} (next: ${data.next_step})`,
  ),
  'appliance.recovered': row('info', problem, (data) => `The appliance no longer has this problem: ${data.words}`),
};
