import type { Selectable } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { SigningKeyId, SigningKeyRecord } from '../enrollment-store.ts';
import { insertAudit } from './audit.ts';
import type { SigningKeyTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export async function readSigningKeys(db: Reader): Promise<SigningKeyRecord[]> {
  const rows = await db.selectFrom('signing_keys').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(toSigningKey);
}

/** For the first, active key and for a staged key: at most one of each is allowed. False when there already is one. */
export async function insertSigningKey(trx: Writer, key: SigningKeyRecord, audit: NewAuditEntry): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('signing_keys')
    .values(toRow(key))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 1n) return false;
  await insertAudit(trx, [audit]);
  return true;
}

export async function stageSigningKey(trx: Writer, key: SigningKeyRecord, audit: NewAuditEntry): Promise<void> {
  if (await insertSigningKey(trx, key, audit)) return;
  throw new ColdironError('conflict', 'a task-signing key is already staged: activate it first');
}

export async function activateSigningKey(
  trx: Writer,
  id: SigningKeyId,
  now: Instant,
  graceUntil: Instant,
  audit: NewAuditEntry,
): Promise<void> {
  await trx
    .updateTable('signing_keys')
    .set({ state: 'grace', grace_until: graceUntil })
    .where('state', '=', 'active')
    .execute();
  const { numUpdatedRows } = await trx
    .updateTable('signing_keys')
    .set({ state: 'active', activated_at: now })
    .where('id', '=', id)
    .where('state', '=', 'staged')
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw new ColdironError('conflict', `task-signing key ${id} is not staged`);
  await insertAudit(trx, [audit]);
}

export async function retireSigningKeys(
  trx: Writer,
  now: Instant,
  audit: (id: SigningKeyId) => NewAuditEntry,
): Promise<SigningKeyId[]> {
  const rows = await trx
    .updateTable('signing_keys')
    .set({ state: 'retired' })
    .where('state', '=', 'grace')
    .where('grace_until', '<=', now)
    .returningAll()
    .execute();
  const ids = rows.map((row) => toSigningKey(row).id);
  await insertAudit(trx, ids.map(audit));
  return ids;
}

const toRow = (key: SigningKeyRecord): SigningKeyTable => ({
  id: key.id,
  state: key.state,
  public_key: key.publicKey,
  created_at: key.createdAt,
  activated_at: key.activatedAt,
  grace_until: key.graceUntil,
});

/** The id is cast: rows are written only from records with a valid id. */
const toSigningKey = (row: Selectable<SigningKeyTable>): SigningKeyRecord => ({
  id: row.id as SigningKeyId,
  state: row.state,
  publicKey: row.public_key,
  createdAt: row.created_at,
  activatedAt: row.activated_at,
  graceUntil: row.grace_until,
});
