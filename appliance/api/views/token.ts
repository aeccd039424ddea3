// An API token as the API shows it: without its secret.

import type { Static } from 'typebox';
import type { Token } from '../../contract/schemas/token.ts';
import { instantText } from '../../domain/instant.ts';
import { type ApiToken, isUsable } from '../../domain/token.ts';
import type { Clock } from '../clock.ts';
import { timeText } from './time-text.ts';

export const tokenView = (token: ApiToken, clock: Clock): Static<typeof Token.schema> => ({
  id: token.id,
  name: token.name,
  role: token.role,
  created_at: instantText(token.createdAt),
  expires_at: timeText(token.expiresAt),
  revoked_at: timeText(token.revokedAt),
  usable: isUsable(token, clock.now()),
});
