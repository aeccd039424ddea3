// Terminals of nodes.

import { Type } from 'typebox';
import { component, nullable, Time } from './shared.ts';

const closed = { additionalProperties: false } as const;

export const Terminal = component(
  'Terminal',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    node: Type.String({ description: 'Its host name' }),
    allocation: Type.String({ format: 'uuid' }),
    user: Type.String({ description: 'The account that it runs as' }),
    opened_by: Type.String(),
    opened_at: nullable(Time),
    typed_at: nullable(Time),
    typed_bytes: Type.Integer(),
    shown_bytes: Type.Integer(),
  }),
);

const side = (standard: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: `Of the window (${standard})` }));

export const TerminalQuery = Type.Object(
  {
    allocation: Type.Optional(Type.String({ description: 'Refused unless the node is held by this allocation' })),
    rows: side(24),
    columns: side(80),
    term: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9_-]{1,40}$', description: 'The variable TERM (xterm-256color)' }),
    ),
  },
  closed,
);
export const TerminalFilter = Type.Object(
  { node: Type.Optional(Type.String({ description: 'Id, host name or MAC address' })) },
  closed,
);
export const TerminalReference = Type.Object({ terminal: Type.String({ description: 'Its id' }) }, closed);
