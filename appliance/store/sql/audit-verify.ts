// Verifies the audit chain from its first entry to its head and reports the first broken link.

import { setImmediate } from 'node:timers/promises';
import type { Selectable } from 'kysely';
import { AUDIT_GENESIS } from '../../domain/event.ts';
import type { AuditVerdict } from '../store.ts';
import { hashOf, toAuditEntry } from './audit.ts';
import type { AuditTable } from './schema.ts';
import { type Reader, reading } from './transaction.ts';

const PAGE_ROWS = 500;

interface Link {
  readonly seq: number;
  readonly hash: string;
}

interface Finding {
  readonly seq: number;
  readonly reason: string;
}

/** `entries` of a broken chain counts the entries before the broken link. */
export async function verifyChain(db: Reader): Promise<AuditVerdict> {
  let last: Link = { seq: 0, hash: AUDIT_GENESIS };
  for (let first = true; ; first = false) {
    // A page and the head from one snapshot: entries appended in the meantime are on the next page, with their head.
    const { rows, head } = await reading(db, async (trx) => ({
      rows: await page(trx, first ? null : last.seq),
      head: await trx.selectFrom('audit_head').select(['seq', 'hash']).executeTakeFirst(),
    }));
    for (const row of rows) {
      const finding = brokenLink(last, row);
      if (finding) return { intact: false, entries: last.seq, ...finding };
      last = { seq: row.seq, hash: row.hash };
    }
    if (rows.length < PAGE_ROWS) {
      const finding = brokenEnd(last, head);
      if (finding) return { intact: false, entries: last.seq, ...finding };
      return { intact: true, entries: last.seq, head: last.hash };
    }
    await setImmediate();
  }
}

/** The first page has no lower bound, to find an entry inserted before number 1. */
function page(db: Reader, after: number | null): Promise<Selectable<AuditTable>[]> {
  const select = db.selectFrom('audit').selectAll().orderBy('seq').limit(PAGE_ROWS);
  return (after === null ? select : select.where('seq', '>', after)).execute();
}

function brokenLink(last: Link, row: Selectable<AuditTable>): Finding | null {
  const expected = last.seq + 1;
  if (row.seq < expected) return { seq: row.seq, reason: `entry ${row.seq} was added before the first one` };
  if (row.seq > expected) return { seq: expected, reason: `entry ${expected} is missing` };
  if (contentHash(row) !== row.hash) {
    return { seq: row.seq, reason: `entry ${row.seq} was changed: its content does not match its hash` };
  }
  if (row.previous_hash !== last.hash) {
    const before = last.seq === 0 ? 'the start of the chain' : `entry ${last.seq}`;
    return { seq: row.seq, reason: `entry ${row.seq} does not follow ${before}: one of them was replaced or moved` };
  }
  return null;
}

function brokenEnd(last: Link, head: Link | undefined): Finding | null {
  if (!head)
    return { seq: last.seq, reason: 'the head of the chain is missing: the end of the chain cannot be verified' };
  if (head.seq > last.seq) {
    return {
      seq: last.seq + 1,
      reason: `the chain was truncated: it stops at entry ${last.seq}, its head names entry ${head.seq}`,
    };
  }
  if (head.seq < last.seq) {
    return {
      seq: head.seq + 1,
      reason: `entry ${head.seq + 1} was added after the head, which names entry ${head.seq}`,
    };
  }
  if (head.hash !== last.hash) {
    return { seq: last.seq, reason: `the head of the chain does not match entry ${last.seq}` };
  }
  return null;
}

/** Null for content that cannot be parsed. */
function contentHash(row: Selectable<AuditTable>): string | null {
  try {
    return hashOf(toAuditEntry(row));
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError) return null;
    throw error;
  }
}
