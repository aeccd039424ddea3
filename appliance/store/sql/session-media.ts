import type { Selectable } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import { parseIpv4 } from '../../domain/ipv4.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { SessionId } from '../../domain/session.ts';
import type { MediumMark, SessionMedium } from '../../domain/session-medium.ts';
import type { SessionMediumTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export async function readMediumBy(
  db: Reader,
  column: 'machine' | 'path_hash',
  value: string,
): Promise<SessionMedium | null> {
  const row = await db.selectFrom('session_media').selectAll().where(column, '=', value).executeTakeFirst();
  return row ? toMedium(row) : null;
}

export async function readUnendedMedia(db: Reader): Promise<SessionMedium[]> {
  const rows = await db
    .selectFrom('session_media')
    .selectAll()
    .where('ended_at', 'is', null)
    .orderBy('made_at')
    .orderBy('machine')
    .execute();
  return rows.map(toMedium);
}

export async function writeMedium(trx: Writer, medium: SessionMedium): Promise<void> {
  const row = {
    salt: medium.salt,
    path_hash: medium.pathHash,
    bmc: medium.bmc,
    since: medium.since,
    made_at: medium.madeAt,
    expires_at: medium.expiresAt,
    inserted_at: medium.insertedAt,
    fetched_at: medium.fetchedAt,
    used_by: medium.usedBy,
    ended_at: medium.endedAt,
  };
  await trx
    .insertInto('session_media')
    .values({ machine: medium.machine, ...row })
    .onConflict((conflict) => conflict.column('machine').doUpdateSet(row))
    .execute();
}

/** The first time counts. */
export async function markMedium(
  trx: Writer,
  machine: MachineId,
  salt: string,
  mark: MediumMark,
  at: Instant,
): Promise<boolean> {
  const column = `${mark}_at` as const;
  const { numUpdatedRows } = await trx
    .updateTable('session_media')
    .set({ [column]: at })
    .where('machine', '=', machine)
    .where('salt', '=', salt)
    .where(column, 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function takeMedium(trx: Writer, machine: MachineId, salt: string, session: SessionId): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('session_media')
    .set({ used_by: session })
    .where('machine', '=', machine)
    .where('salt', '=', salt)
    .where((eb) => eb.or([eb('used_by', 'is', null), eb('used_by', '=', session)]))
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** The session id is cast: only `takeMedium` writes it. */
const toMedium = (row: Selectable<SessionMediumTable>): SessionMedium => ({
  machine: mustParse(parseMachineId(row.machine)),
  salt: row.salt,
  pathHash: row.path_hash,
  bmc: mustParse(parseIpv4(row.bmc)),
  since: row.since,
  madeAt: row.made_at,
  expiresAt: row.expires_at,
  insertedAt: row.inserted_at,
  fetchedAt: row.fetched_at,
  usedBy: row.used_by as SessionId | null,
  endedAt: row.ended_at,
});
