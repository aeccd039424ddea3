// The methods of `web-session-store.ts`, each in its transaction.

import type { Kysely, Selectable } from 'kysely';
import type { TokenId } from '../../domain/token.ts';
import type { WebSession, WebSessionId } from '../../domain/web-session.ts';
import type { WebSessionStore } from '../web-session-store.ts';
import { insertAudit } from './audit.ts';
import type { WebSessionTable } from './people-tables.ts';
import type { Database } from './schema.ts';
import { writing } from './transaction.ts';

export const webSessionVerbs = (db: Kysely<Database>): WebSessionStore => ({
  createWebSession: (session, secretHash, audit) =>
    writing(db, async (trx) => {
      await trx
        .insertInto('web_sessions')
        .values({
          id: session.id,
          secret_hash: secretHash,
          token: session.token,
          actor: session.actor,
          role: session.role,
          created_at: session.createdAt,
          used_at: session.usedAt,
          expires_at: session.expiresAt,
        })
        .execute();
      await insertAudit(trx, [audit]);
    }),
  async webSession(id) {
    const row = await db.selectFrom('web_sessions').selectAll().where('id', '=', id).executeTakeFirst();
    return row ? { session: toSession(row), secretHash: row.secret_hash } : null;
  },
  touchWebSession: (id, usedAt) =>
    writing(db, async (trx) => {
      await trx
        .updateTable('web_sessions')
        .set({ used_at: usedAt })
        .where('id', '=', id)
        .where('used_at', '<', usedAt)
        .execute();
    }),
  endWebSession: (id, audit) =>
    writing(db, async (trx) => {
      const { numDeletedRows } = await trx.deleteFrom('web_sessions').where('id', '=', id).executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) return false;
      await insertAudit(trx, [audit]);
      return true;
    }),
  trimWebSessions: (expiredBefore, usedBefore) =>
    writing(db, async (trx) => {
      const { numDeletedRows } = await trx
        .deleteFrom('web_sessions')
        .where((eb) => eb.or([eb('expires_at', '<', expiredBefore), eb('used_at', '<', usedBefore)]))
        .executeTakeFirstOrThrow();
      return Number(numDeletedRows);
    }),
});

/** The ids are cast: only `createWebSession` writes them. */
const toSession = (row: Selectable<WebSessionTable>): WebSession => ({
  id: row.id as WebSessionId,
  token: row.token as TokenId | null,
  actor: row.actor,
  role: row.role,
  createdAt: row.created_at,
  usedAt: row.used_at,
  expiresAt: row.expires_at,
});
