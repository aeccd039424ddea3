import type { Selectable } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { CertificateRecord, Fingerprint, NewCertificate } from '../enrollment-store.ts';
import { insertAudit } from './audit.ts';
import { requireMachine } from './machines.ts';
import type { CertificateTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

/** Certificates of the same holder and kind that are not replaced yet. */
const predecessors = (trx: Writer, { machine, kind, serial }: Pick<NewCertificate, 'machine' | 'kind' | 'serial'>) =>
  trx
    .updateTable('certificates')
    .where('machine', machine === null ? 'is' : '=', machine)
    .where('kind', '=', kind)
    .where('serial', '<>', serial);

export async function recordCertificate(trx: Writer, certificate: NewCertificate, audit: NewAuditEntry): Promise<void> {
  if (certificate.machine !== null) {
    const { hostname, state } = await requireMachine(trx, certificate.machine);
    if (state === 'removed') throw new ColdironError('conflict', `${hostname} is removed: it cannot get a certificate`);
  }
  await insertCertificate(trx, certificate);
  await predecessors(trx, certificate)
    .set({ replaced_by: certificate.serial })
    .where('replaced_by', 'is', null)
    .execute();
  await insertAudit(trx, [audit]);
}

export async function insertCertificate(trx: Writer, certificate: NewCertificate): Promise<void> {
  await trx
    .insertInto('certificates')
    .values({
      serial: certificate.serial,
      fingerprint: certificate.fingerprint,
      authority: certificate.authority,
      kind: certificate.kind,
      machine: certificate.machine,
      not_before: certificate.notBefore,
      not_after: certificate.notAfter,
      confirmed_at: null,
      revoked_at: null,
      revoked_because: null,
      replaced_by: null,
    })
    .execute();
}

export async function readCertificate(db: Reader, fingerprint: Fingerprint): Promise<CertificateRecord | null> {
  const row = await db.selectFrom('certificates').selectAll().where('fingerprint', '=', fingerprint).executeTakeFirst();
  return row ? toCertificate(row) : null;
}

export async function readCertificatesOf(db: Reader, machine: MachineId | null): Promise<CertificateRecord[]> {
  const rows = await db
    .selectFrom('certificates')
    .selectAll()
    .where('machine', machine === null ? 'is' : '=', machine)
    .orderBy('not_before', 'desc')
    .orderBy('serial')
    .execute();
  return rows.map(toCertificate);
}

export async function readHeldCertificates(
  db: Reader,
  { authority, before, now }: { authority?: Fingerprint; before?: Instant; now: Instant },
): Promise<CertificateRecord[]> {
  let query = db
    .selectFrom('certificates')
    .selectAll()
    .where('revoked_at', 'is', null)
    .where('replaced_by', 'is', null)
    .where('not_after', '>', now);
  if (authority !== undefined) query = query.where('authority', '=', authority);
  if (before !== undefined) query = query.where('not_after', '<', before);
  return (await query.orderBy('not_after').orderBy('serial').execute()).map(toCertificate);
}

/** Newer certificates are not replaced: an old certificate may be presented again before the new one is used. */
export async function confirmCertificate(trx: Writer, serial: string, now: Instant): Promise<void> {
  const row = await trx
    .updateTable('certificates')
    .set({ confirmed_at: now })
    .where('serial', '=', serial)
    .where('confirmed_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  if (!row) return;
  await predecessors(trx, toCertificate(row))
    .set({ replaced_by: serial })
    .where('replaced_by', 'is', null)
    .where('not_before', '<=', row.not_before)
    .execute();
  await trx
    .updateTable('enrollment_tokens')
    .set({ revoked_at: now })
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('certificate', 'in', (eb) =>
      eb.selectFrom('certificates').select('serial').where('replaced_by', '=', serial),
    )
    .execute();
}

export async function revokeCertificate(
  trx: Writer,
  serial: string,
  now: Instant,
  because: string,
  audit: NewAuditEntry,
): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('certificates')
    .set({ revoked_at: now, revoked_because: because })
    .where('serial', '=', serial)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await insertAudit(trx, [audit]);
  return true;
}

/** Returns how many were valid. Expired ones are not marked. */
export async function revokeCertificatesOf(
  trx: Writer,
  machine: MachineId,
  now: Instant,
  because: string,
  kinds: readonly CertificateRecord['kind'][],
): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('certificates')
    .set({ revoked_at: now, revoked_because: because })
    .where('machine', '=', machine)
    .where('kind', 'in', kinds)
    .where('revoked_at', 'is', null)
    .where('not_after', '>', now)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

/** The fingerprints are cast: rows are written only from records with valid ones. */
const toCertificate = (row: Selectable<CertificateTable>): CertificateRecord => ({
  serial: row.serial,
  fingerprint: row.fingerprint as Fingerprint,
  authority: row.authority as Fingerprint,
  kind: row.kind,
  machine: row.machine === null ? null : mustParse(parseMachineId(row.machine)),
  notBefore: row.not_before,
  notAfter: row.not_after,
  confirmedAt: row.confirmed_at,
  revokedAt: row.revoked_at,
  revokedBecause: row.revoked_because,
  replacedBy: row.replaced_by,
});
