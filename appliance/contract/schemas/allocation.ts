// Allocations of nodes.

import { Type } from 'typebox';
import { ALLOCATION_STATE_NAMES } from '../../domain/allocation.ts';
import { component, nullable, PageSize, Time } from './shared.ts';

const closed = { additionalProperties: false } as const;
const State = Type.Enum([...ALLOCATION_STATE_NAMES]);

export const Allocation = component(
  'Allocation',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    user: Type.String({ description: 'The name of the account' }),
    node: Type.String({ description: 'Its host name' }),
    key_set: nullable(Type.String({ description: 'null: the keys of the user and the default keys of the site' })),
    sudo: nullable(
      Type.Object(
        {
          policy: Type.String(),
          version: Type.Integer(),
          reviewer: Type.String(),
          path: Type.String(),
          checksum: Type.String({ description: 'SHA-256 of the file, compared every ten minutes' }),
        },
        { description: 'What the user may run as root' },
      ),
    ),
    state: State,
    means: Type.String({ description: 'What the state means' }),
    since: Time,
    deadline: nullable(Time),
    reason: nullable(Type.String()),
    requested_at: Time,
    requested_by: Type.String(),
  }),
);

export const AllocationFilter = Type.Object(
  {
    user: Type.Optional(Type.String()),
    node: Type.Optional(Type.String({ description: 'Id, host name or MAC address' })),
    state: Type.Optional(State),
    open: Type.Optional(Type.Boolean({ description: 'Only those that hold a node' })),
    limit: PageSize(100, 1000),
  },
  closed,
);
export const NewAllocation = Type.Object(
  {
    user: Type.String({ maxLength: 100, description: 'The name of the account' }),
    node: Type.Optional(Type.String({ description: 'Id, host name or MAC address' })),
    sku: Type.Optional(Type.String({ description: 'Any free node of this SKU; instead of node' })),
    sudo_policy: Type.Optional(Type.String({ description: 'A reviewed sudo policy (none)' })),
    key_set: Type.Optional(
      Type.String({ description: 'Left out: the keys of the user and the default keys of the site' }),
    ),
  },
  closed,
);
export const AllocationReference = Type.Object({ allocation: Type.String({ description: 'Its id' }) }, closed);
export const CleanUpBody = Type.Object(
  { note: Type.String({ minLength: 3, maxLength: 500, description: 'How the node was cleaned; for the audit log' }) },
  closed,
);
export const AllocationKeySetBody = Type.Object({ key_set: nullable(Type.String()) }, closed);
