// Work on a node as the API shows it: requests, progress, and the hardware facts found.

import { Type } from 'typebox';
import { IDENTITY_LEVELS } from '../../domain/hardware-identity.ts';
import { SESSION_MODES } from '../../domain/session.ts';
import { component, nullable, Time } from './shared.ts';

const note = Type.Optional(Type.String({ minLength: 1, maxLength: 500, description: 'The reason, for the record' }));

export const CommandBody = Type.Object({ note }, { additionalProperties: false });

const confirm = Type.String({ description: "The node's host name, typed out: this cannot be undone" });

export const ConfirmedBody = Type.Object({ note, confirm }, { additionalProperties: false });

export const DeployBody = Type.Object(
  { note, confirm, profile: Type.Optional(Type.String({ description: 'Replaces the declared profile' })) },
  { additionalProperties: false },
);

const Step = Type.Object({
  step: Type.String(),
  status: Type.Enum(['started', 'progress', 'done', 'failed']),
  percent: nullable(Type.Number()),
  message: nullable(Type.String()),
  at: Time,
  bytes: nullable(Type.Number({ description: 'Read or written so far; null: the step does not count them' })),
  stalled_since: nullable(Time),
});

export const NodeSession = component(
  'NodeSession',
  Type.Object({
    id: Type.String(),
    mode: Type.Enum([...SESSION_MODES]),
    ticket_made_at: Time,
    opened_at: nullable(Time),
    identity: nullable(Type.Enum([...IDENTITY_LEVELS], { description: 'How its identity was established' })),
    heard_at: nullable(Time),
    last: nullable(Step),
    ended: nullable(Type.Object({ how: Type.String(), at: Time, reason: nullable(Type.String()) })),
  }),
);

export const NodeFacts = component(
  'NodeFacts',
  Type.Object({
    at: Time,
    facts: Type.Unsafe<unknown>({ type: 'object', additionalProperties: true, description: 'See docs/service-os.md' }),
  }),
);
