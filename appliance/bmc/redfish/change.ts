// PATCH with the If-Match that each firmware needs: some reject a change without it, some reject every change with it, and some
// compare weak tags with strong ones.

import { accepted, type Read, type RedfishCaller } from './caller.ts';
import type { Reply } from './conversation.ts';
import type { Quirks } from './quirks.ts';
import { propertyComplaints, refusalOf } from './refusal.ts';
import type { Resource } from './resource.ts';
import { finished } from './task.ts';

const PRECONDITION_FAILED = 412;
const PRECONDITION_REQUIRED = 428;

/** The values for If-Match, in the order of the attempts; null: no such header. */
export function matchLadder(tag: string | null, etag: Quirks['etag']): readonly (string | null)[] {
  const exact = tag === null ? [] : [tag, otherStrength(tag)];
  return etag === 'omit' || tag === null ? [null, ...exact, '*'] : [...exact, '*', null];
}

const otherStrength = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : `W/${tag}`);

/** Settles when the BMC has accepted the change; the caller verifies it by reading it back. */
export async function change(bmc: RedfishCaller, read: Read, body: Resource): Promise<void> {
  const { etag } = (await bmc.service()).quirks;
  return changeWith(bmc, read, body, etag);
}

/** Without discovering the kind of BMC first. */
export async function changeWith(bmc: RedfishCaller, read: Read, body: Resource, etag: Quirks['etag']): Promise<void> {
  let tags = matchLadder(read.tag, etag);
  let reply = await patch(bmc, read.path, body, tags[0] ?? null);
  if (reply.status === PRECONDITION_FAILED) {
    // Another client may have changed it between our read and our write.
    const { tag } = await bmc.read(read.path);
    if (tag !== read.tag) tags = [null, ...matchLadder(tag, etag)];
  }
  for (const tag of tags.slice(1)) {
    if (reply.status !== PRECONDITION_FAILED && reply.status !== PRECONDITION_REQUIRED) break;
    reply = await patch(bmc, read.path, body, tag);
  }
  await verifyAccepted(bmc, read.path, reply);
}

const patch = (bmc: RedfishCaller, path: string, body: Resource, tag: string | null): Promise<Reply> =>
  bmc.send({ method: 'PATCH', path, body, headers: tag === null ? {} : { 'if-match': tag } });

async function verifyAccepted(bmc: RedfishCaller, path: string, reply: Reply): Promise<void> {
  const request = { method: 'PATCH', path } as const;
  accepted(request, reply);
  // A success status, with a message at the property that it was not changed.
  if (propertyComplaints(reply.body).length > 0) throw refusalOf(`PATCH ${path}`, reply.status, reply.body);
  await finished(bmc, `PATCH ${path}`, reply);
}
