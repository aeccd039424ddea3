// API tokens.

import { Type } from 'typebox';
import { ROLES } from '../../domain/token.ts';
import { component, nullable, Time } from './shared.ts';

export const Token = component(
  'Token',
  Type.Object({
    id: Type.String(),
    name: Type.String(),
    role: Type.Enum([...ROLES]),
    created_at: Time,
    expires_at: nullable(Time),
    revoked_at: nullable(Time),
    usable: Type.Boolean(),
  }),
);

export const NewToken = Type.Object(
  {
    name: Type.String({ description: 'The name of its holder in the audit log' }),
    role: Type.Enum([...ROLES]),
    expires_in_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 87_600, description: 'Left out: never' })),
  },
  { additionalProperties: false },
);
