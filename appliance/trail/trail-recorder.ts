// Writes the trail to the store in batches and gives each event the id of its boot attempt.
//
// Events of a known machine are limited per kind and minute; unknown machines share one small limit. So a flood, with invented
// MACs or with a known one, fills neither the disk nor the trail. Events over the limit are dropped and counted, and the count
// is stored.

import { randomUUID } from 'node:crypto';
import { type NewAuditEntry, type NewEvent, newEvent } from '../domain/event.ts';
import type { EventData } from '../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../domain/instant.ts';
import type { Mac } from '../domain/mac.ts';
import type { Store } from '../store/store.ts';
import { AuditFolds } from './audit-folds.ts';
import { type Flood, Floods } from './floods.ts';
import type { ObservableTrail, Trail, TrailNote } from './trail.ts';

/** A packet after a longer silence belongs to a new boot attempt. */
const ATTEMPT_GAP = 90 * SECOND;
const UNKNOWN_PER_SECOND = 50;
/** A separate limit for events about the network: a rogue DHCP server, an address conflict. Unknown machines can cause these too. */
const SITE_WIDE_PER_SECOND = 10;
const DROP_REPORT_INTERVAL = MINUTE;
/** Above this the store cannot keep up, and events are dropped and counted. */
const MAX_BACKLOG = 20_000;
const MAX_BATCH = 1000;
/** MACs remembered at once; the one that was silent longest is forgotten first. */
const MAX_ATTEMPTS = 50_000;

interface Attempt {
  readonly id: string;
  lastSeen: Instant;
}

export class TrailRecorder implements Trail, ObservableTrail {
  readonly #store: Pick<Store, 'appendEvents' | 'appendAudit'>;
  readonly #now: () => Instant;
  readonly #observers = new Set<(note: TrailNote) => void>();
  readonly #attempts = new Map<Mac, Attempt>();
  #backlog: NewEvent[] = [];
  #lost = 0;
  readonly #floods = new Floods();
  readonly #auditFolds = new AuditFolds();
  readonly #unknownLimit = new RateLimit(UNKNOWN_PER_SECOND);
  readonly #siteWideLimit = new RateLimit(SITE_WIDE_PER_SECOND);
  #dropped = 0;
  #droppedReportedAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<Store, 'appendEvents' | 'appendAudit'>, now: () => Instant) {
    this.#store = store;
    this.#now = now;
  }

  observe(observer: (note: TrailNote) => void): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  note(note: TrailNote): void {
    this.#record(note);
    for (const observer of this.#observers) observer(note);
  }

  /** For an event that a machine causes and another part of the appliance writes. False: it is only counted. */
  admitsEvent({ machine, kind, data, at }: NewEvent): boolean {
    return machine === null || this.#floods.admits({ mac: null, machine, kind, data }, at);
  }

  /** For an audit entry. False: it is only counted. */
  admitsAudit(entry: NewAuditEntry): boolean {
    return this.#auditFolds.admits(entry);
  }

  #record({ kind, mac, machine, beginsAttempt = false, siteWide = false, data }: TrailNote): void {
    const at = this.#now();
    const limit = siteWide ? this.#siteWideLimit : this.#unknownLimit;
    if (machine === null && !limit.admits(at)) {
      this.#dropped += 1;
      return;
    }
    if (machine !== null && mac !== null && !this.#floods.admits({ mac, machine, kind, data }, at)) return;
    if (this.#backlog.length >= MAX_BACKLOG) {
      this.#lost += 1;
      return;
    }
    const attempt = mac === null ? null : this.#attemptOf(mac, at, beginsAttempt);
    const frame = { at, actor: mac === null ? 'network' : `mac:${mac}`, machine, correlationId: attempt };
    this.#backlog.push(newEvent(frame, kind, mac === null ? data : { mac, ...data }));
  }

  /** Writes the backlog. When the store fails, the backlog is kept for the next flush. */
  async flush(): Promise<void> {
    this.#recordCounts(false);
    await this.#writeAuditCounts(false);
    while (this.#backlog.length > 0) {
      // Events arrive, and may be lost, while the batch is written.
      const batch = this.#backlog.slice(0, MAX_BATCH);
      const lost = this.#lost;
      await this.#store.appendEvents(lost > 0 ? [...batch, this.#gap({ lost })] : batch);
      this.#lost -= lost;
      this.#backlog = this.#backlog.slice(batch.length);
    }
  }

  /** The last flush: also stores the counts of unfinished minutes. */
  async close(): Promise<void> {
    this.#recordCounts(true);
    await this.#writeAuditCounts(true);
    await this.flush();
  }

  async #writeAuditCounts(all: boolean): Promise<void> {
    const due = this.#auditFolds.due(this.#now(), all);
    if (due.length === 0) return;
    try {
      await this.#store.appendAudit(due);
    } catch (error) {
      this.#auditFolds.putBack(due);
      throw error;
    }
  }

  #recordCounts(all: boolean): void {
    const at = this.#now();
    for (const flood of this.#floods.due(at, all)) this.#backlog.push(this.#flood(flood, at));
    if (this.#dropped === 0 || (!all && at - this.#droppedReportedAt < DROP_REPORT_INTERVAL)) return;
    this.#backlog.push(this.#gap({ lost: this.#dropped, of: 'strangers' }));
    this.#dropped = 0;
    this.#droppedReportedAt = at;
  }

  #attemptOf(mac: Mac, at: Instant, begins: boolean): string {
    const known = this.#attempts.get(mac);
    const continues = known !== undefined && at - known.lastSeen < ATTEMPT_GAP && !begins;
    const attempt = continues ? known : { id: randomUUID(), lastSeen: at };
    attempt.lastSeen = at;
    // Re-inserted, so that the map is in the order of last contact.
    this.#attempts.delete(mac);
    this.#attempts.set(mac, attempt);
    if (this.#attempts.size > MAX_ATTEMPTS) {
      for (const oldest of this.#attempts.keys()) {
        this.#attempts.delete(oldest);
        break;
      }
    }
    return attempt.id;
  }

  #flood({ note: { mac, machine }, data }: Flood, at: Instant): NewEvent {
    if (mac === null) return { at, kind: 'trail.flood', actor: 'appliance', machine, correlationId: null, data };
    const correlationId = this.#attempts.get(mac)?.id ?? null;
    return { at, kind: 'trail.flood', actor: `mac:${mac}`, machine, correlationId, data: { mac, ...data } };
  }

  #gap(data: EventData<'trail.gap'>): NewEvent {
    return { at: this.#now(), kind: 'trail.gap', actor: 'appliance', machine: null, correlationId: null, data };
  }
}

/** At most `perSecond` admissions in each second. */
class RateLimit {
  readonly #perSecond: number;
  #second: Instant = 0;
  #used = 0;

  constructor(perSecond: number) {
    this.#perSecond = perSecond;
  }

  admits(at: Instant): boolean {
    const second = Math.floor(at / SECOND);
    if (second !== this.#second) {
      this.#second = second;
      this.#used = 0;
    }
    this.#used += 1;
    return this.#used <= this.#perSecond;
  }
}
