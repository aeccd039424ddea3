// One poll of a followed node: events since the last poll, progress, and whether the work has ended.

import type { Way } from '../contract/operation.ts';
import type { Answer } from '../contract/wire.ts';
import type { Json } from '../domain/event.ts';
import { eventLine } from '../trail/story.ts';
import type { Connection } from './connection.ts';
import { operate } from './operate.ts';

type NodeAnswer = Answer<'getNode'>;
type SessionAnswer = Answer<'listNodeSessions'>['sessions'][number];

export interface Look {
  readonly node: NodeAnswer;
  readonly news: readonly { readonly at: string; readonly words: string }[];
  /** Null: no running step reports a percentage. */
  readonly progress: { readonly step: string; readonly percent: number } | null;
  readonly after: number;
  readonly end: Ending | null;
}

export type Ending =
  | { readonly ok: true }
  | { readonly ok: false; readonly stage: string; readonly reason: string; readonly nextStep: string };

export async function newestEvent(connection: Connection, node: string): Promise<number> {
  const { next } = await operate(connection, 'listEvents', { query: { node, limit: '1', newest: 'true' } });
  return next ?? 0;
}

const PAGE = '500';

export async function lookAt(connection: Connection, name: string, after: number, way: Way): Promise<Look> {
  // The state is read first, so that the events include what led to it.
  const node = await operate(connection, 'getNode', { params: { node: name } });
  const params = { node: node.id };
  const { sessions } = await operate(connection, 'listNodeSessions', { params, query: { limit: '1' } });
  const query = { node: node.id, after: String(after), limit: PAGE };
  const { events, next } = await operate(connection, 'listEvents', { query });
  return {
    node,
    news: events.map((event) => ({
      at: event.at,
      words: eventLine({ ...event, data: event.data as Json, attempt: event.correlation_id }),
    })),
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

/** Another command may have moved it to another state: that ends the work too, as a failure. */
export function endOf(node: NodeAnswer, { via, to }: Way): Ending | null {
  if (via.includes(node.state)) return null;
  if (to === null || node.state === to) return { ok: true };
  return {
    ok: false,
    stage: node.failure?.step ?? node.state,
    reason: node.failure?.reason ?? node.note ?? `its state is ${node.state}`,
    nextStep: node.next_step,
  };
}
