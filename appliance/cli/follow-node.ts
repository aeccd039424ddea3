// One look at a node that is being followed: what has happened since the last one, how far it is, and whether that is the end.

import type { Json } from '../domain/event.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import { eventLine, type StoryEvent } from '../trail/story.ts';
import type { Connection } from './connection.ts';
import type { NodeAnswer } from './nodes.ts';
import type { SessionAnswer } from './sessions.ts';

export interface Way {
  readonly via: readonly LifecycleState[];
  readonly to: LifecycleState | null;
}

export interface Look {
  readonly node: NodeAnswer;
  readonly news: readonly { readonly at: string; readonly words: string }[];
  /** Null: nothing that has a percentage is under way. */
  readonly progress: { readonly step: string; readonly percent: number } | null;
  readonly after: number;
  readonly end: Ending | null;
}

export type Ending =
  | { readonly ok: true }
  | { readonly ok: false; readonly stage: string; readonly reason: string; readonly nextStep: string };

interface EventAnswer extends Omit<StoryEvent, 'attempt'> {
  readonly seq: number;
  readonly correlation_id: string | null;
  readonly data: Json;
}

interface EventPage {
  readonly events: readonly EventAnswer[];
  readonly next: number | null;
}

export async function newestEvent(connection: Connection, node: string): Promise<number> {
  const { next } = await connection.get<EventPage>('/api/v1/events', { node, limit: '1', newest: 'true' });
  return next ?? 0;
}

const PAGE = '500';

export async function lookAt(connection: Connection, name: string, after: number, way: Way): Promise<Look> {
  const path = `/api/v1/nodes/${encodeURIComponent(name)}`;
  // The state first: whatever led to it is then among the events.
  const node = await connection.get<NodeAnswer>(path);
  const { sessions } = await connection.get<{ sessions: SessionAnswer[] }>(`${path}/sessions`, { limit: '1' });
  const { events, next } = await connection.get<EventPage>('/api/v1/events', {
    node: node.id,
    after: String(after),
    limit: PAGE,
  });
  return {
    node,
    news: events.map((event) => ({ at: event.at, words: eventLine({ ...event, attempt: event.correlation_id }) })),
    progress: progressOf(sessions[0]),
    after: next ?? after,
    end: endOf(node, way),
  };
}

function progressOf(session: SessionAnswer | undefined): Look['progress'] {
  if (!session || session.ended !== null || session.last?.percent == null || session.last.status !== 'progress') {
    return null;
  }
  return { step: session.last.step, percent: session.last.percent };
}

/** Somebody may have sent it elsewhere meanwhile: that is an end too, and no success. */
export function endOf(node: NodeAnswer, { via, to }: Way): Ending | null {
  if (via.includes(node.state)) return null;
  if (to === null || node.state === to) return { ok: true };
  return {
    ok: false,
    stage: node.failure?.step ?? node.state,
    reason: node.failure?.reason ?? node.note ?? `it is ${node.state} now`,
    nextStep: node.next_step,
  };
}
