import { Type } from 'typebox';
import type { Role } from '../../domain/token.ts';

/** What a person may ask of a node's life, and who may. */
export const NODE_ACTIONS = {
  accept: { role: 'operator', means: 'Accept a discovered machine into the inventory' },
  retire: { role: 'operator', means: 'Take a node out of use; it can be reactivated' },
  reactivate: { role: 'operator', means: 'Return a retired node to where it was' },
  quarantine: { role: 'operator', means: 'Stop trusting a node: it boots nothing until cleared' },
  'clear-quarantine': { role: 'operator', means: 'Trust a quarantined node again' },
  remove: { role: 'admin', means: 'End a retired node for good: its identity is dead afterwards' },
} as const satisfies Record<string, { role: Role; means: string }>;

export type NodeAction = keyof typeof NODE_ACTIONS;

const note = Type.Optional(
  Type.String({ minLength: 1, maxLength: 500, description: 'Why, for whoever reads it later' }),
);

export const ActionBody = Type.Object({ note }, { additionalProperties: false });

export const RemovalBody = Type.Object(
  { note, confirm: Type.String({ description: "The node's host name, typed out: this cannot be undone" }) },
  { additionalProperties: false },
);
