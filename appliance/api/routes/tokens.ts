import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import { HOUR } from '../../domain/instant.ts';
import { shown } from '../../domain/parsed.ts';
import { originOf } from '../access.ts';
import { createApiToken } from '../api-token.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { refTo } from '../schemas/shared.ts';
import { NewToken, Token, tokenView } from '../schemas/token.ts';

export function tokenRoutes(app: App, { store, clock }: ManagementDeps): void {
  app.get(
    '/tokens',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Tokens, without their secrets',
        tags: ['tokens'],
        response: { 200: Type.Object({ tokens: Type.Array(refTo(Token)) }) },
      },
    },
    async () => ({ tokens: (await store.tokens()).map((token) => tokenView(token, clock)) }),
  );

  app.post(
    '/tokens',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Make a token; its text is in this answer and nowhere else',
        tags: ['tokens'],
        body: NewToken,
        response: { 201: Type.Object({ ...Token.schema.properties, token: Type.String() }) },
      },
    },
    async (request, reply) => {
      const { name, role, expires_in_hours: hours } = request.body;
      const expiresAt = hours === undefined ? null : clock.now() + hours * HOUR;
      const made = await createApiToken(store, { name, role, expiresAt, ...originOf(request) }, clock);
      return reply.code(201).send({ ...tokenView(made.token, clock), token: made.text });
    },
  );

  app.post(
    '/tokens/:token/revoke',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Make a token useless, at once and for good',
        tags: ['tokens'],
        params: Type.Object({ token: Type.String({ description: 'Its id' }) }),
        response: { 200: refTo(Token) },
      },
    },
    async (request) => {
      const found = (await store.tokens()).find(({ id }) => id === request.params.token);
      if (!found) throw new ColdironError('not_found', `there is no token ${shown(request.params.token)}`);
      const now = clock.now();
      const revoked = await store.revokeToken(found.id, now, {
        at: now,
        ...originOf(request),
        action: 'token.revoked',
        target: `token:${found.name}`,
        before: { id: found.id, role: found.role },
        after: null,
      });
      if (!revoked) throw new ColdironError('conflict', `the token ${found.name} was revoked before`);
      return tokenView({ ...found, revokedAt: now }, clock);
    },
  );
}
