// Asynchronous operations: the BMC replies 202 with the path of a task (DSP0266, "Asynchronous operations").

import { SECOND } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import type { RedfishCaller } from './caller.ts';
import type { Reply } from './conversation.ts';
import { messagesIn, refusalOf } from './refusal.ts';
import { linkAt, listAt, pathOf, textAt } from './resource.ts';

const FAILED: ReadonlySet<string> = new Set(['Exception', 'Killed', 'Cancelled', 'Interrupted']);

/** Settles when the task is complete; rejects when it fails or does not end. */
export async function finished(bmc: RedfishCaller, what: string, reply: Reply): Promise<void> {
  const path = reply.status === 202 ? pollPath(reply) : null;
  if (path === null) return;
  let state = textAt(reply.body, 'TaskState') ?? 'accepted';
  const done = await bmc.until(bmc.limits.task, async () => {
    const polled = await bmc.send({ method: 'GET', path });
    // A completed task may be deleted after one read; the caller reads the changed resource back.
    if (polled.status === 404) return true;
    if (polled.status >= 300) throw refusalOf(`the task of ${what}`, polled.status, polled.body);
    state = textAt(polled.body, 'TaskState') ?? state;
    return isDone(what, polled) ? true : null;
  });
  if (done === null) {
    const limit = bmc.limits.task / SECOND;
    throw new BmcError('contradiction', `${what}: the BMC started a task, and after ${limit} s its state is ${state}`);
  }
}

/** The task rather than its monitor when both are named: XCC deletes the task after its monitor reports "done". */
function pollPath({ headers, body }: Reply): string | null {
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
