// Sessions of the service OS and the facts they found, as the API shows them.

import type { Static } from 'typebox';
import type { NodeFacts, NodeSession } from '../../contract/schemas/node-work.ts';
import { instantText } from '../../domain/instant.ts';
import type { Session, SessionStep } from '../../domain/session.ts';
import type { MachineFacts } from '../../store/session-store.ts';
import { timeText } from './time-text.ts';

export const sessionView = (session: Session): Static<typeof NodeSession.schema> => ({
  id: session.id,
  mode: session.mode,
  ticket_made_at: instantText(session.ticketMadeAt),
  opened_at: timeText(session.openedAt),
  identity: session.identity?.level ?? null,
  heard_at: timeText(session.heardAt),
  last: session.last && stepView(session.last),
  ended: session.ended && { ...session.ended, at: instantText(session.ended.at) },
});

const stepView = ({ progress, at, ...said }: SessionStep) => ({
  ...said,
  at: instantText(at),
  bytes: progress?.bytes ?? null,
  stalled_since: progress && progress.stalledAt !== null ? instantText(progress.moved.at) : null,
});

export const factsView = ({ at, facts }: MachineFacts): Static<typeof NodeFacts.schema> => ({
  at: instantText(at),
  facts,
});
