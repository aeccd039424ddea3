import type { ExpressionBuilder, Selectable } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { IdentityRevocation } from '../change.ts';
import type {
  EnrollmentToken,
  EnrollmentTokenId,
  HeldToken,
  NewEnrollmentToken,
  Redemption,
  Renewal,
} from '../enrollment-store.ts';
import { insertCertificate, revokeCertificatesOf } from './certificates.ts';
import { requireMachine } from './machines.ts';
import type { Database, EnrollmentTokenTable } from './schema.ts';
import { revokeNodeTokens } from './tokens.ts';
import type { Reader, Writer } from './transaction.ts';

/** False: another token is open. */
export async function issueToken(
  trx: Writer,
  token: NewEnrollmentToken,
  replaces: EnrollmentTokenId | null,
): Promise<boolean> {
  const open = await openToken(trx, token.machine);
  if ((open?.id ?? null) !== replaces) return false;
  await closeTokens(trx, token.machine, token.createdAt);
  await insertToken(trx, token);
  return true;
}

export async function readEnrollmentToken(db: Reader, id: EnrollmentTokenId): Promise<HeldToken | null> {
  const row = await db
    .selectFrom('enrollment_tokens')
    .innerJoin('machines', 'machines.id', 'enrollment_tokens.machine')
    .selectAll('enrollment_tokens')
    .select('machines.state')
    .where('enrollment_tokens.id', '=', id)
    .executeTakeFirst();
  return row ? { token: toToken(row), secretHash: row.secret_hash, machineRemoved: row.state === 'removed' } : null;
}

export async function readEnrollmentTokensOf(db: Reader, machine: MachineId): Promise<EnrollmentToken[]> {
  const rows = await db
    .selectFrom('enrollment_tokens')
    .selectAll()
    .where('machine', '=', machine)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .execute();
  return rows.map(toToken);
}

/** One conditional update: exactly one of several concurrent callers changes the row. */
export async function redeemToken(trx: Writer, redemption: Redemption): Promise<boolean> {
  const { token, machine, now, certificate, publicKey, recovery } = redemption;
  const consumed = await trx
    .updateTable('enrollment_tokens')
    .set({ consumed_at: now, redeemed_key: publicKey, redeemed_certificate: certificate.serial })
    .where('id', '=', token)
    .where('machine', '=', machine)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .where((eb) => eb.or([eb('certificate', 'is', null), eb('certificate', 'in', unrevoked(eb))]))
    .where('machine', 'in', (eb) => eb.selectFrom('machines').select('id').where('state', '<>', 'removed'))
    .returning('kind')
    .executeTakeFirst();
  if (!consumed) return false;
  // A first enrollment invalidates earlier keys: their holder is no longer this node.
  if (consumed.kind === 'enrollment') await revokeCertificatesOf(trx, machine, now, 'enrolled again', ['node']);
  await insertCertificate(trx, certificate);
  await insertToken(trx, recovery);
  return true;
}

/** Revokes the certificate of the lost reply and its recovery token. */
export async function repeatRedemption(trx: Writer, redemption: Redemption, since: Instant): Promise<boolean> {
  const { token, machine, now, certificate, publicKey, recovery } = redemption;
  const used = await trx
    .selectFrom('enrollment_tokens')
    .innerJoin('certificates', 'certificates.serial', 'enrollment_tokens.redeemed_certificate')
    .select('certificates.serial')
    .where('enrollment_tokens.id', '=', token)
    .where('enrollment_tokens.machine', '=', machine)
    .where('enrollment_tokens.consumed_at', '>', since)
    .where('enrollment_tokens.redeemed_key', '=', publicKey)
    .where('certificates.confirmed_at', 'is', null)
    .where('certificates.revoked_at', 'is', null)
    .executeTakeFirst();
  if (!used || (await requireMachine(trx, machine)).state === 'removed') return false;
  await trx
    .updateTable('certificates')
    .set({
      revoked_at: now,
      revoked_because: 'the reply was lost; a new one was issued',
      replaced_by: certificate.serial,
    })
    .where('serial', '=', used.serial)
    .execute();
  await trx
    .updateTable('enrollment_tokens')
    .set({ revoked_at: now })
    .where('certificate', '=', used.serial)
    .where('consumed_at', 'is', null)
    .execute();
  await insertCertificate(trx, certificate);
  await trx
    .updateTable('enrollment_tokens')
    .set({ redeemed_certificate: certificate.serial })
    .where('id', '=', token)
    .execute();
  await insertToken(trx, recovery);
  return true;
}

export async function renewCertificate(trx: Writer, { certificate, recovery }: Renewal): Promise<void> {
  await insertCertificate(trx, certificate);
  await insertToken(trx, recovery);
}

/** Returns how many were valid; `credentials`: certificates and enrollment tokens. */
export async function revokeIdentity(
  trx: Writer,
  machine: MachineId,
  { at, because, origin }: Pick<IdentityRevocation, 'at' | 'because' | 'origin'>,
): Promise<{ apiTokens: number; credentials: number }> {
  const apiTokens = await revokeNodeTokens(trx, `node:${machine}`, at, origin);
  const tokens = await closeTokens(trx, machine, at);
  const certificates = await revokeCertificatesOf(trx, machine, at, because, ['node', 'service']);
  return { apiTokens, credentials: tokens + certificates };
}

const unrevoked = (eb: ExpressionBuilder<Database, 'enrollment_tokens'>) =>
  eb.selectFrom('certificates').select('serial').where('revoked_at', 'is', null);

/** Of several, the one that expires last. */
async function openToken(db: Reader, machine: MachineId): Promise<EnrollmentToken | null> {
  const row = await db
    .selectFrom('enrollment_tokens')
    .selectAll()
    .where('machine', '=', machine)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .orderBy('expires_at', 'desc')
    .executeTakeFirst();
  return row ? toToken(row) : null;
}

async function closeTokens(trx: Writer, machine: MachineId, now: Instant): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('enrollment_tokens')
    .set({ revoked_at: now })
    .where('machine', '=', machine)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

async function insertToken(trx: Writer, token: NewEnrollmentToken): Promise<void> {
  await trx
    .insertInto('enrollment_tokens')
    .values({
      id: token.id,
      machine: token.machine,
      kind: token.kind,
      delivery: token.delivery,
      actor: token.actor,
      created_at: token.createdAt,
      expires_at: token.expiresAt,
      certificate: token.certificate,
      consumed_at: null,
      revoked_at: null,
      secret_hash: token.secretHash,
      redeemed_key: null,
      redeemed_certificate: null,
    })
    .execute();
}

/** The id is cast: only `insertToken` writes it, from an EnrollmentTokenId. */
const toToken = (row: Selectable<EnrollmentTokenTable>): EnrollmentToken => ({
  id: row.id as EnrollmentTokenId,
  machine: mustParse(parseMachineId(row.machine)),
  kind: row.kind,
  delivery: row.delivery,
  actor: row.actor,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  certificate: row.certificate,
  consumedAt: row.consumed_at,
  revokedAt: row.revoked_at,
});
