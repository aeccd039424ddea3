// Who can be asked; the verbs need no more than this. Every refusal is an error here, in the BMC's words and without secrets.

import { type Instant, SECOND } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import { type BmcClock, pause } from '../clock.ts';
import type { Ask, Reply } from './conversation.ts';
import type { RedfishLimits } from './limits.ts';
import { refusalOf } from './refusal.ts';
import { asResource, type Resource, textAt } from './resource.ts';
import type { RedfishService } from './service.ts';
import type { RedfishSession } from './session.ts';
import { finished } from './task.ts';

/** A resource as it was read, with what a change of it has to name. */
export interface Read {
  readonly path: string;
  readonly tag: string | null;
  readonly resource: Resource;
}

export interface RedfishCaller {
  readonly limits: RedfishLimits;
  /** What was found out about the service; asked for once per session. */
  service(): Promise<RedfishService>;
  root(): Promise<Resource>;
  /** Logs in; the path of our own account, where the BMC wants a new password before anything else. */
  ownAccount(): Promise<string | null>;
  read(path: string): Promise<Read>;
  /** Any status is an answer. */
  ask(ask: Ask): Promise<Reply>;
  /** A POST that is done when this settles, also where the BMC makes a task of it. */
  act(path: string, body: unknown, options?: { readonly once: boolean }): Promise<void>;
  /** Looks again and again, with growing pauses, until it is so or the time is up: then null. */
  until<Found>(limit: number, look: () => Promise<Found | null>): Promise<Found | null>;
}

const FIRST_PAUSE = SECOND / 4;
const LONGEST_PAUSE = 2 * SECOND;

export interface CallerSettings {
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
  /** When the verb has to be over. */
  readonly deadline: Instant;
  readonly session: Pick<RedfishSession, 'ask' | 'root' | 'ownAccount'>;
  readonly service: (caller: RedfishCaller) => Promise<RedfishService>;
}

export function redfishCaller({ clock, limits, deadline, session, service }: CallerSettings): RedfishCaller {
  const caller: RedfishCaller = {
    limits,
    service: () => service(caller),
    root: () => session.root(deadline),
    ownAccount: () => session.ownAccount(deadline),
    ask: (ask) => session.ask(ask, deadline),
    read: async (path) => {
      const reply = await caller.ask({ method: 'GET', path });
      const resource = asResource(accepted({ method: 'GET', path }, reply).body);
      if (!resource) throw new BmcError('malformed', `GET ${path}: the answer is not a resource`);
      return { path, tag: reply.headers.etag ?? textAt(resource, '@odata.etag'), resource };
    },
    act: async (path, body, options = { once: false }) => {
      const ask: Ask = { method: 'POST', path, body, ...options };
      await finished(caller, `POST ${path}`, accepted(ask, await caller.ask(ask)));
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

export function accepted({ method, path }: Ask, reply: Reply): Reply {
  if (reply.status >= 300) throw refusalOf(`${method} ${path}`, reply.status, reply.body);
  return reply;
}
