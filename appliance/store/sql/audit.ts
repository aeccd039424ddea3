// The audit chain: each entry's hash covers its content and the previous hash, so changing, deleting or inserting an entry
// breaks every later one. The head, in its own table, records where the chain must end.

import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import { type AuditEntry, auditText, canonicalJson, type Json, type NewAuditEntry } from '../../domain/event.ts';
import { inChunks } from './chunks.ts';
import type { AuditTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export async function insertAudit(trx: Writer, entries: readonly NewAuditEntry[]): Promise<void> {
  if (entries.length === 0) return;
  // The update comes first and returns the head: on an engine with several writers it is also the lock that orders them.
  const head = await trx
    .updateTable('audit_head')
    .set((eb) => ({ seq: eb('seq', '+', entries.length) }))
    .returning(['seq', 'hash'])
    .executeTakeFirstOrThrow();
  let { hash } = head;
  const rows = entries.map((entry, index) => {
    const linked = chained(entry, head.seq - entries.length + 1 + index, hash);
    hash = linked.hash;
    return toRow(linked);
  });
  await inChunks(rows, (chunk) => trx.insertInto('audit').values(chunk).execute());
  await trx.updateTable('audit_head').set({ hash }).execute();
}

export const hashOf = (entry: Omit<AuditEntry, 'hash'>): string =>
  createHash('sha256').update(auditText(entry)).digest('hex');

export async function readAudit(
  db: Reader,
  after: number,
  limit: number,
  newest = false,
  correlationId?: string,
): Promise<AuditEntry[]> {
  let select = db
    .selectFrom('audit')
    .selectAll()
    .where('seq', '>', after)
    .orderBy('seq', newest ? 'desc' : 'asc')
    .limit(limit);
  if (correlationId !== undefined) select = select.where('correlation_id', '=', correlationId);
  const rows = await select.execute();
  return (newest ? rows.reverse() : rows).map(toAuditEntry);
}

/** The engine changes text that is not well-formed Unicode, and it would not match its hash. */
function chained(entry: NewAuditEntry, seq: number, previousHash: string): AuditEntry {
  const content = {
    seq,
    at: entry.at,
    actor: entry.actor.toWellFormed(),
    action: entry.action.toWellFormed(),
    target: entry.target.toWellFormed(),
    correlationId: entry.correlationId?.toWellFormed() ?? null,
    before: entry.before,
    after: entry.after,
    previousHash,
  };
  return { ...content, hash: hashOf(content) };
}

const toRow = (entry: AuditEntry): AuditTable => ({
  seq: entry.seq,
  at: entry.at,
  actor: entry.actor,
  action: entry.action,
  target: entry.target,
  correlation_id: entry.correlationId,
  before: canonicalJson(entry.before),
  after: canonicalJson(entry.after),
  previous_hash: entry.previousHash,
  hash: entry.hash,
});

export const toAuditEntry = (row: Selectable<AuditTable>): AuditEntry => ({
  seq: row.seq,
  at: row.at,
  actor: row.actor,
  action: row.action,
  target: row.target,
  correlationId: row.correlation_id,
  before: JSON.parse(row.before) as Json,
  after: JSON.parse(row.after) as Json,
  previousHash: row.previous_hash,
  hash: row.hash,
});
