import { type Static, Type } from 'typebox';
import { instantText } from '../../domain/instant.ts';
import { type ApiToken, isUsable, ROLES } from '../../domain/token.ts';
import type { Clock } from '../clock.ts';
import { component, nullable, Time, timeText } from './shared.ts';

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
    name: Type.String({ description: 'What the audit calls its holder' }),
    role: Type.Enum([...ROLES]),
    expires_in_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 87_600, description: 'Left out: never' })),
  },
  { additionalProperties: false },
);

export const tokenView = (token: ApiToken, clock: Clock): Static<typeof Token.schema> => ({
  id: token.id,
  name: token.name,
  role: token.role,
  created_at: instantText(token.createdAt),
  expires_at: timeText(token.expiresAt),
  revoked_at: timeText(token.revokedAt),
  usable: isUsable(token, clock.now()),
});
