// Sends requests; all that the verbs need. Every refusal becomes an error, with the BMC's own message and without secrets.

import { type Instant, SECOND } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import { type BmcClock, pause } from '../clock.ts';
import type { RedfishRequest, Reply } from './conversation.ts';
import type { RedfishLimits } from './limits.ts';
import { refusalOf } from './refusal.ts';
import { asResource, type Resource, textAt } from './resource.ts';
import type { RedfishService } from './service.ts';
import type { RedfishSession } from './session.ts';
import { finished } from './task.ts';

/** A resource with the ETag that a change of it needs. */
export interface Read {
  readonly path: string;
  readonly tag: string | null;
  readonly resource: Resource;
}

export interface RedfishCaller {
  readonly limits: RedfishLimits;
  /** The discovered properties of the service; read once per session. */
  service(): Promise<RedfishService>;
  root(): Promise<Resource>;
  /** Logs in; the path of our own account, if the BMC requires a password change first. */
  ownAccount(): Promise<string | null>;
  read(path: string): Promise<Read>;
  /** Resolves for any status. */
  send(request: RedfishRequest): Promise<Reply>;
  /** A POST; settles when it is complete, also when the BMC turns it into a task. */
  act(path: string, body: unknown, options?: { readonly once: boolean }): Promise<void>;
  /** Polls with growing pauses until `look` returns a value; null after the limit. */
  until<Found>(limit: number, look: () => Promise<Found | null>): Promise<Found | null>;
}

const FIRST_PAUSE = SECOND / 4;
const LONGEST_PAUSE = 2 * SECOND;

export interface CallerSettings {
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
  /** Deadline of the verb. */
  readonly deadline: Instant;
  readonly session: Pick<RedfishSession, 'send' | 'root' | 'ownAccount'>;
  readonly service: (caller: RedfishCaller) => Promise<RedfishService>;
}

export function redfishCaller({ clock, limits, deadline, session, service }: CallerSettings): RedfishCaller {
  let received = 0;
  const caller: RedfishCaller = {
    limits,
    service: () => service(caller),
    root: () => session.root(deadline),
    ownAccount: () => session.ownAccount(deadline),
    send: async (request) => {
      const reply = await session.send(request, deadline);
      received += reply.bytes;
      if (received <= limits.verbBytes) return reply;
      const where = `${request.method} ${request.path}`;
      throw new BmcError('malformed', `${where}: with this reply the BMC has sent more than ${limits.verbBytes} bytes`);
    },
    read: async (path) => {
      const reply = await caller.send({ method: 'GET', path });
      const resource = asResource(accepted({ method: 'GET', path }, reply).body);
      if (!resource) throw new BmcError('malformed', `GET ${path}: the reply is not a resource`);
      return { path, tag: reply.headers.etag ?? textAt(resource, '@odata.etag'), resource };
    },
    act: async (path, body, options = { once: false }) => {
      const request: RedfishRequest = { method: 'POST', path, body, ...options };
      await finished(caller, `POST ${path}`, accepted(request, await caller.send(request)));
    },
    until: async (limit, look) => {
      const end = Math.min(deadline, clock.now() + limit);
      for (let wait = FIRST_PAUSE; ; wait = Math.min(wait * 2, LONGEST_PAUSE)) {
        const found = await look();
        if (found !== null || clock.now() >= end) return found;
        await pause(clock, wait);
      }
    },
  };
  return caller;
}

export function accepted({ method, path }: RedfishRequest, reply: Reply): Reply {
  if (reply.status >= 300) throw refusalOf(`${method} ${path}`, reply.status, reply.body);
  return reply;
}
