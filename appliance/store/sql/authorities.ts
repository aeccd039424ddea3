import type { Selectable } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { AuthorityRecord, Fingerprint } from '../enrollment-store.ts';
import { insertAudit } from './audit.ts';
import { readHeldCertificates } from './certificates.ts';
import type { AuthorityTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export async function readAuthorities(db: Reader): Promise<AuthorityRecord[]> {
  const rows = await db.selectFrom('authorities').selectAll().orderBy('created_at').orderBy('id').execute();
  return rows.map(toAuthority);
}

export async function insertFirstAuthority(
  trx: Writer,
  authority: AuthorityRecord,
  audit: NewAuditEntry,
): Promise<boolean> {
  // The unique index allows one active authority: of two concurrent processes, one succeeds.
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('authorities')
    .values(toRow(authority))
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows !== 1n) return false;
  await insertAudit(trx, [audit]);
  return true;
}

export async function insertStagedAuthority(
  trx: Writer,
  authority: AuthorityRecord,
  audit: NewAuditEntry,
): Promise<void> {
  const current = await trx
    .selectFrom('authorities')
    .select(['id', 'state'])
    .where('state', 'in', ['staged', 'outgoing'])
    .executeTakeFirst();
  if (current) {
    throw new ColdironError(
      'conflict',
      `a rotation is in progress: authority ${current.id.slice(0, 16)} is ${current.state}; finish it first`,
    );
  }
  await trx.insertInto('authorities').values(toRow(authority)).execute();
  await insertAudit(trx, [audit]);
}

export async function activateAuthority(
  trx: Writer,
  id: Fingerprint,
  now: Instant,
  audit: NewAuditEntry,
): Promise<void> {
  const notStaged = new ColdironError('conflict', `authority ${id.slice(0, 16)} is not staged`);
  const named = await trx.selectFrom('authorities').select('state').where('id', '=', id).executeTakeFirst();
  if (named?.state !== 'staged') throw notStaged;
  // First the active one: the unique index allows only one.
  await trx.updateTable('authorities').set({ state: 'outgoing' }).where('state', '=', 'active').execute();
  const { numUpdatedRows } = await trx
    .updateTable('authorities')
    .set({ state: 'active', activated_at: now })
    .where('id', '=', id)
    .where('state', '=', 'staged')
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw notStaged;
  await insertAudit(trx, [audit]);
}

export async function retireAuthority(
  trx: Writer,
  id: Fingerprint,
  now: Instant,
  despiteHolders: boolean,
  audit: NewAuditEntry,
): Promise<void> {
  const { numUpdatedRows } = await trx
    .updateTable('authorities')
    .set({ state: 'retired', retired_at: now })
    .where('id', '=', id)
    .where('state', '=', 'outgoing')
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw new ColdironError('conflict', `authority ${id.slice(0, 16)} is not outgoing`);
  if (!despiteHolders) {
    const held = await readHeldCertificates(trx, { authority: id, now });
    if (held.length > 0) {
      throw new ColdironError(
        'conflict',
        `${held.length} certificates of authority ${id.slice(0, 16)} are still in use; renew them, or wait until they expire`,
        held.map(({ kind, machine, serial }) => `${kind} certificate ${serial} of ${machine ?? 'the appliance'}`),
      );
    }
  }
  await insertAudit(trx, [audit]);
}

const toRow = (authority: AuthorityRecord): AuthorityTable => ({
  id: authority.id,
  state: authority.state,
  certificate: authority.certificate,
  cross_certificate: authority.crossCertificate,
  created_at: authority.createdAt,
  not_after: authority.notAfter,
  activated_at: authority.activatedAt,
  retired_at: authority.retiredAt,
});

/** The id is cast: rows are written only from records with a valid id. */
const toAuthority = (row: Selectable<AuthorityTable>): AuthorityRecord => ({
  id: row.id as Fingerprint,
  state: row.state,
  certificate: row.certificate,
  crossCertificate: row.cross_certificate,
  createdAt: row.created_at,
  notAfter: row.not_after,
  activatedAt: row.activated_at,
  retiredAt: row.retired_at,
});
