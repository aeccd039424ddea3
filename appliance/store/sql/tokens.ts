import type { Selectable } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry, Origin } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ApiToken, TokenId } from '../../domain/token.ts';
import { insertAudit } from './audit.ts';
import type { TokenTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export async function insertToken(
  trx: Writer,
  token: ApiToken,
  secretHash: string,
  audit: NewAuditEntry,
): Promise<void> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('tokens')
    .values({
      id: token.id,
      name: token.name,
      role: token.role,
      created_at: token.createdAt,
      expires_at: token.expiresAt,
      revoked_at: token.revokedAt,
      secret_hash: secretHash,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 1n) throw new ColdironError('conflict', `the token ${token.id} already exists`);
  await insertAudit(trx, [audit]);
}

export async function readToken(db: Reader, id: TokenId): Promise<{ token: ApiToken; secretHash: string } | null> {
  const row = await db.selectFrom('tokens').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? { token: toToken(row), secretHash: row.secret_hash } : null;
}

export async function readTokens(db: Reader): Promise<ApiToken[]> {
  const rows = await db.selectFrom('tokens').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(toToken);
}

export async function revokeToken(trx: Writer, id: TokenId, now: Instant, audit: NewAuditEntry): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('tokens')
    .set({ revoked_at: now })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await insertAudit(trx, [audit]);
  return true;
}

/** The API tokens of a node are named by its id: its host name may be reused after its removal. */
export async function revokeNodeTokens(
  trx: Writer,
  name: string,
  at: Instant,
  { actor, correlationId }: Origin,
): Promise<number> {
  const revoked = await trx
    .updateTable('tokens')
    .set({ revoked_at: at })
    .where('role', '=', 'node')
    .where('name', '=', name)
    .where('revoked_at', 'is', null)
    .returning('id')
    .execute();
  const entry = { at, actor, action: 'token.revoked', target: `token:${name}`, correlationId };
  await insertAudit(
    trx,
    revoked.map(() => ({ ...entry, before: { revoked_at: null }, after: { revoked_at: at } })),
  );
  return revoked.length;
}

/** The id is cast: only `insertToken` writes it, from a TokenId. */
const toToken = (row: Selectable<TokenTable>): ApiToken => ({
  id: row.id as TokenId,
  name: row.name,
  role: row.role,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
});
