// PATCH, with the If-Match that each firmware wants: one refuses a change without it, another every change with it, and some
// compare weak tags with strong ones.

import { accepted, type Read, type RedfishCaller } from './caller.ts';
import type { Reply } from './conversation.ts';
import type { Quirks } from './quirks.ts';
import { propertyComplaints, refusalOf } from './refusal.ts';
import type { Resource } from './resource.ts';
import { finished } from './task.ts';

const PRECONDITION_FAILED = 412;
const PRECONDITION_REQUIRED = 428;

/** What goes into If-Match, in the order it is tried; null: no such header. */
export function matchLadder(tag: string | null, etag: Quirks['etag']): readonly (string | null)[] {
  const exact = tag === null ? [] : [tag, otherStrength(tag)];
  return etag === 'omit' || tag === null ? [null, ...exact, '*'] : [...exact, '*', null];
}

const otherStrength = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : `W/${tag}`);

/** Settles when the change has been taken: whether it is so is read back by whoever wanted it. */
export async function change(bmc: RedfishCaller, read: Read, body: Resource): Promise<void> {
  const { etag } = (await bmc.service()).quirks;
  return changeWith(bmc, read, body, etag);
}

/** Without asking what kind of BMC it is. */
export async function changeWith(bmc: RedfishCaller, read: Read, body: Resource, etag: Quirks['etag']): Promise<void> {
  let tags = matchLadder(read.tag, etag);
  let reply = await patch(bmc, read.path, body, tags[0] ?? null);
  if (reply.status === PRECONDITION_FAILED) {
    // Somebody else may have changed it between our reading and our writing.
    const { tag } = await bmc.read(read.path);
    if (tag !== read.tag) tags = [null, ...matchLadder(tag, etag)];
  }
  for (const tag of tags.slice(1)) {
    if (reply.status !== PRECONDITION_FAILED && reply.status !== PRECONDITION_REQUIRED) break;
    reply = await patch(bmc, read.path, body, tag);
  }
  await taken(bmc, read.path, reply);
}

const patch = (bmc: RedfishCaller, path: string, body: Resource, tag: string | null): Promise<Reply> =>
  bmc.ask({ method: 'PATCH', path, body, headers: tag === null ? {} : { 'if-match': tag } });

async function taken(bmc: RedfishCaller, path: string, reply: Reply): Promise<void> {
  const ask = { method: 'PATCH', path } as const;
  accepted(ask, reply);
  // "Success", with a note at the property that it was not changed.
  if (propertyComplaints(reply.body).length > 0) throw refusalOf(`PATCH ${path}`, reply.status, reply.body);
  await finished(bmc, `PATCH ${path}`, reply);
}
