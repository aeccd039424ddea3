// What a BMC does not do at once it makes a task of: 202, and a place to look (DSP0266, "Asynchronous operations").

import { SECOND } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import type { RedfishCaller } from './caller.ts';
import type { Reply } from './conversation.ts';
import { messagesIn, refusalOf } from './refusal.ts';
import { linkAt, listAt, pathOf, textAt } from './resource.ts';

const FAILED: ReadonlySet<string> = new Set(['Exception', 'Killed', 'Cancelled', 'Interrupted']);

/** Settles when the task has been done; a task that failed, or does not end, is an error. */
export async function finished(bmc: RedfishCaller, what: string, reply: Reply): Promise<void> {
  const path = reply.status === 202 ? placeToLook(reply) : null;
  if (path === null) return;
  let state = textAt(reply.body, 'TaskState') ?? 'accepted';
  const done = await bmc.until(bmc.limits.task, async () => {
    const seen = await bmc.ask({ method: 'GET', path });
    // A finished task that was looked at once may be gone; what became of it shows in what it was to change.
    if (seen.status === 404) return true;
    if (seen.status >= 300) throw refusalOf(`the task of ${what}`, seen.status, seen.body);
    state = textAt(seen.body, 'TaskState') ?? state;
    return isDone(what, seen) ? true : null;
  });
  if (done === null) {
    const limit = bmc.limits.task / SECOND;
    throw new BmcError('contradiction', `${what}: the BMC took it as a task, and after ${limit} s it is ${state}`);
  }
}

/** The task rather than its monitor where both are told: XCC deletes the task of a monitor that says "done". */
function placeToLook({ headers, body }: Reply): string | null {
  const task = textAt(body, 'TaskState') === null ? null : linkAt(body);
  return task ?? pathOf(headers.location ?? null);
}

function isDone(what: string, { status, body }: Reply): boolean {
  const state = textAt(body, 'TaskState');
  if (state === null) return status !== 202;
  if (FAILED.has(state) || (state === 'Completed' && textAt(body, 'TaskStatus') === 'Critical')) {
    const words = messagesIn({ '@Message.ExtendedInfo': listAt(body, 'Messages') }).map((message) => message.words);
    throw new BmcError('refused', `${what}: the task ended as ${state}: ${words.join('; ') || 'no reason given'}`);
  }
  return state === 'Completed';
}
