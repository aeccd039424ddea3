// Folds the audit entries that machines can cause at will. Audit entries are never deleted, and whoever has read a ticket can present it
// again and again. The first refusals about a target get an entry each; the others are counted, and the count is one entry per
// period. Periods double while the flood lasts.

import type { NewAuditEntry } from '../domain/event.ts';
import { HOUR, type Instant, MINUTE, SECOND } from '../domain/instant.ts';

/** Actions without a change, or with one that the same client repeats. */
const FOLDED_ACTIONS: readonly string[] = ['session.refused', 'session.reopened', 'node.enrollment_refused'];
/** More than a machine causes that tries again after a lost reply. */
const OWN_ENTRIES = 5;
const LONGEST_PERIOD = HOUR;
/** Names in refused requests may be invented: the refusals about all further targets share one entry per period. */
const MOST_TARGETS = 64;
const OTHER_TARGETS = 'others';

interface Fold {
  readonly since: Instant;
  readonly period: number;
  /** Entries of their own that are left in this period. */
  own: number;
  count: number;
  last: NewAuditEntry | null;
}

export class AuditFolds {
  readonly #folds = new Map<string, Fold>();
  #ended: NewAuditEntry[] = [];

  /** False: the entry is only counted; do not write it. */
  admits(entry: NewAuditEntry): boolean {
    if (!FOLDED_ACTIONS.includes(entry.action)) return true;
    this.#endPeriods(entry.at);
    const key = this.#keyOf(entry);
    const fold = this.#folds.get(key) ?? { since: entry.at, period: MINUTE, own: OWN_ENTRIES, count: 0, last: null };
    this.#folds.set(key, fold);
    if (fold.own > 0) {
      fold.own -= 1;
      return true;
    }
    fold.count += 1;
    fold.last = entry;
    return false;
  }

  /** The counts of the periods that have ended; with `all`, every count, because the appliance stops. */
  due(at: Instant, all = false): readonly NewAuditEntry[] {
    this.#endPeriods(at, all);
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  /** They could not be written: they are due again. */
  putBack(entries: readonly NewAuditEntry[]): void {
    this.#ended = [...entries, ...this.#ended];
  }

  #keyOf({ action, target }: NewAuditEntry): string {
    const key = `${action} ${target}`;
    return this.#folds.has(key) || this.#folds.size < MOST_TARGETS ? key : `${action} ${OTHER_TARGETS}`;
  }

  #endPeriods(at: Instant, all = false): void {
    for (const [key, fold] of this.#folds) {
      const { since, period, count, last } = fold;
      if (!all && at - since < period) continue;
      this.#folds.delete(key);
      if (last === null) continue;
      this.#ended.push(folded(key, last, count, since, at));
      // It counts from its first event on, until a period stays without one.
      const next = Math.min(2 * period, LONGEST_PERIOD);
      if (!all) this.#folds.set(key, { since: at, period: next, own: 0, count: 0, last: null });
    }
  }
}

/** `last`: the newest of them, in full. */
function folded(key: string, last: NewAuditEntry, count: number, since: Instant, at: Instant): NewAuditEntry {
  const target = key.slice(last.action.length + 1);
  const seconds = Math.round((at - since) / SECOND);
  return { ...last, at, target, correlationId: null, before: null, after: { count, seconds, last: last.after } };
}
