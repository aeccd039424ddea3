// Work on a node as the API shows it: what may be asked for, how far it is, and what was found in the machine.

import { type Static, Type } from 'typebox';
import { instantText } from '../../domain/instant.ts';
import type { Session } from '../../domain/session.ts';
import { SESSION_MODES } from '../../domain/session.ts';
import type { MachineFacts } from '../../store/session-store.ts';
import { component, nullable, Time, timeText } from './shared.ts';

const note = Type.Optional(
  Type.String({ minLength: 1, maxLength: 500, description: 'Why, for whoever reads it later' }),
);

export const WorkBody = Type.Object({ note }, { additionalProperties: false });

const confirm = Type.String({ description: "The node's host name, typed out: this destroys what is on its disks" });

export const ReleaseBody = Type.Object({ note, confirm }, { additionalProperties: false });

export const DeployBody = Type.Object(
  { note, confirm, profile: Type.Optional(Type.String({ description: "Another one than the node's" })) },
  { additionalProperties: false },
);

const Step = Type.Object({
  step: Type.String(),
  status: Type.Enum(['started', 'progress', 'done', 'failed']),
  percent: nullable(Type.Number()),
  message: nullable(Type.String()),
  at: Time,
});

export const NodeSession = component(
  'NodeSession',
  Type.Object({
    id: Type.String(),
    mode: Type.Enum([...SESSION_MODES]),
    ticket_made_at: Time,
    opened_at: nullable(Time),
    heard_at: nullable(Time),
    last: nullable(Step),
    ended: nullable(Type.Object({ how: Type.String(), at: Time, reason: nullable(Type.String()) })),
  }),
);

export const sessionView = (session: Session): Static<typeof NodeSession.schema> => ({
  id: session.id,
  mode: session.mode,
  ticket_made_at: instantText(session.ticketMadeAt),
  opened_at: timeText(session.openedAt),
  heard_at: timeText(session.heardAt),
  last: session.last && { ...session.last, at: instantText(session.last.at) },
  ended: session.ended && { ...session.ended, at: instantText(session.ended.at) },
});

export const NodeFacts = component(
  'NodeFacts',
  Type.Object({
    at: Time,
    facts: Type.Unsafe<unknown>({ type: 'object', additionalProperties: true, description: 'See docs/service-os.md' }),
  }),
);

export const factsView = ({ at, facts }: MachineFacts): Static<typeof NodeFacts.schema> => ({
  at: instantText(at),
  facts,
});
