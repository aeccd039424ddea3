import type { Selectable } from 'kysely';
import type { Instant } from '../../domain/instant.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { Session, SessionId } from '../../domain/session.ts';
import type { SessionEnding, Write } from '../change.ts';
import type { NewTicket, Opening, Reopening, SessionReport } from '../session-store.ts';
import type { SessionTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export async function writeTicket(trx: Writer, ticket: NewTicket): Promise<void> {
  await trx.deleteFrom('sessions').where('machine', '=', ticket.machine).where('opened_at', 'is', null).execute();
  await trx
    .insertInto('sessions')
    .values({
      id: ticket.id,
      machine: ticket.machine,
      mode: ticket.mode,
      work_order: JSON.stringify(ticket.order),
      ticket_hash: ticket.ticketHash,
      ticket_made_at: ticket.madeAt,
      ticket_expires_at: ticket.expiresAt,
      key_hash: null,
      nonce_hash: null,
      opened_at: null,
      expires_at: null,
      heard_at: null,
      sequence: 0,
      last_step: null,
      ended_at: null,
      ended_how: null,
      ended_reason: null,
      identity: null,
    })
    .execute();
}

export async function readSessionBy(
  db: Reader,
  column: 'ticket_hash' | 'key_hash',
  hash: string,
): Promise<Session | null> {
  const row = await db.selectFrom('sessions').selectAll().where(column, '=', hash).executeTakeFirst();
  return row ? toSession(row) : null;
}

export async function readSessionsOf(db: Reader, machine: MachineId, limit: number): Promise<Session[]> {
  const rows = await db
    .selectFrom('sessions')
    .selectAll()
    .where('machine', '=', machine)
    .orderBy('ticket_made_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(toSession);
}

/** One conditional update: exactly one of several concurrent callers changes the row. */
export async function openSession(trx: Writer, opening: Opening): Promise<boolean> {
  const { ticketHash, keyHash, nonceHash, now, expiresAt } = opening;
  const identity = JSON.stringify(opening.identity);
  const opened = await trx
    .updateTable('sessions')
    .set({ key_hash: keyHash, nonce_hash: nonceHash, opened_at: now, expires_at: expiresAt, heard_at: now, identity })
    .where('ticket_hash', '=', ticketHash)
    .where('opened_at', 'is', null)
    .where('ended_at', 'is', null)
    .where('ticket_expires_at', '>', now)
    .where('machine', 'in', (eb) => eb.selectFrom('machines').select('id').where('state', '<>', 'removed'))
    .returning(['id', 'machine'])
    .executeTakeFirst();
  if (!opened) return false;
  await trx
    .updateTable('sessions')
    .set({ ended_at: now, ended_how: 'superseded', ended_reason: 'the machine opened a newer session' })
    .where('machine', '=', opened.machine)
    .where('id', '<>', opened.id)
    .where('ended_at', 'is', null)
    .execute();
  return true;
}

export async function reopenSession(trx: Writer, reopening: Reopening): Promise<boolean> {
  const { ticketHash, keyHash, nonceHash, openedSince } = reopening;
  const { numUpdatedRows } = await trx
    .updateTable('sessions')
    .set({ key_hash: keyHash, identity: JSON.stringify(reopening.identity) })
    .where('ticket_hash', '=', ticketHash)
    .where('nonce_hash', '=', nonceHash)
    .where('opened_at', '>=', openedSince)
    .where('sequence', '=', 0)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function writeStep(trx: Writer, report: SessionReport): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('sessions')
    .set({ sequence: report.sequence, heard_at: report.step.at, last_step: JSON.stringify(report.step) })
    .where('id', '=', report.id)
    .where('sequence', '<', report.sequence)
    .where('opened_at', 'is not', null)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function markStalled(
  trx: Writer,
  { session, movedAt, at }: Extract<Write, { kind: 'mark-stalled' }>,
): Promise<boolean> {
  const row = await trx.selectFrom('sessions').selectAll().where('id', '=', session).executeTakeFirst();
  const last = row && row.ended_at === null ? toSession(row).last : null;
  if (!last?.progress || last.progress.moved.at !== movedAt || last.progress.stalledAt !== null) return false;
  const marked = { ...last, progress: { ...last.progress, stalledAt: at } };
  await trx
    .updateTable('sessions')
    .set({ last_step: JSON.stringify(marked) })
    .where('id', '=', session)
    .execute();
  return true;
}

export async function endSession(trx: Writer, id: SessionId, { how, at, reason }: SessionEnding): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('sessions')
    .set({ ended_at: at, ended_how: how, ended_reason: reason })
    .where('id', '=', id)
    .where('opened_at', 'is not', null)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

export async function endSessionsOf(
  trx: Writer,
  machine: MachineId,
  { how, at, reason }: SessionEnding,
): Promise<void> {
  await trx
    .updateTable('sessions')
    .set({ ended_at: at, ended_how: how, ended_reason: reason })
    .where('machine', '=', machine)
    .where('ended_at', 'is', null)
    .execute();
}

export async function takeFile(trx: Writer, session: SessionId, name: string, at: Instant): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await trx
    .insertInto('session_files')
    .values({ session, name, taken_at: at })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n;
}

export async function readFilesTaken(db: Reader, session: SessionId): Promise<string[]> {
  const rows = await db
    .selectFrom('session_files')
    .select('name')
    .where('session', '=', session)
    .orderBy('name')
    .execute();
  return rows.map(({ name }) => name);
}

/** The id is cast: only `writeTicket` writes it, from a SessionId. */
const toSession = (row: Selectable<SessionTable>): Session => ({
  id: row.id as SessionId,
  machine: mustParse(parseMachineId(row.machine)),
  mode: row.mode,
  order: JSON.parse(row.work_order),
  ticketMadeAt: row.ticket_made_at,
  ticketExpiresAt: row.ticket_expires_at,
  openedAt: row.opened_at,
  expiresAt: row.expires_at,
  heardAt: row.heard_at,
  identity: row.identity === null ? null : JSON.parse(row.identity),
  sequence: row.sequence,
  last: row.last_step === null ? null : JSON.parse(row.last_step),
  ended:
    row.ended_at === null || row.ended_how === null
      ? null
      : { how: row.ended_how, at: row.ended_at, reason: row.ended_reason },
});
