// Signing in to the web page, and who is signed in.

import { Type } from 'typebox';
import { ROLES } from '../../domain/token.ts';
import { nullable, Time } from './shared.ts';

const closed = { additionalProperties: false } as const;

export const SignInBody = Type.Union([
  Type.Object({ token: Type.String({ maxLength: 200, description: 'An API token' }) }, closed),
  Type.Object({ code: Type.String({ maxLength: 200, description: 'A one-time code' }) }, closed),
]);

export const WhoAmI = Type.Object({
  actor: Type.String({ description: 'The name in the trail and the audit log' }),
  role: Type.Enum([...ROLES]),
  session: nullable(
    Type.Object({
      created_at: Time,
      ends_at: Type.String({ format: 'date-time', description: 'When it ends if it is not used' }),
      expires_at: Type.String({ format: 'date-time', description: 'When it ends in any case' }),
    }),
  ),
});

export const SignInCode = Type.Object({
  code: Type.String(),
  expires_at: Time,
  url: nullable(Type.String({ description: 'The page that takes the code, with the code in its fragment' })),
});
