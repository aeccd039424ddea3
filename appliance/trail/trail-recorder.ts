// Writes the trail into the store, in batches, and gives every note the id of the boot attempt it belongs to.
//
// Known machines are written down, each kind of note up to a number in a minute; strangers share a small allowance. Whoever
// floods the network, with made-up MACs or with one that is known, fills neither the disk nor the story. What is not written
// down is counted, and the count is.

import { randomUUID } from 'node:crypto';
import { type NewEvent, newEvent } from '../domain/event.ts';
import type { EventData } from '../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../domain/instant.ts';
import type { Mac } from '../domain/mac.ts';
import type { Store } from '../store/store.ts';
import { type Flood, Floods } from './floods.ts';
import type { ObservableTrail, Trail, TrailNote } from './trail.ts';

/** After this much silence the next packet is another boot. */
const ATTEMPT_GAP = 90 * SECOND;
const STRANGERS_PER_SECOND = 50;
/** Beside them: another DHCP server, an address that is taken. What a stranger says can bring these about as well. */
const OF_THE_SITE_PER_SECOND = 10;
const TELL_STRANGERS_EVERY = MINUTE;
/** Beyond this the store has fallen behind, and notes are counted instead of kept. */
const LARGEST_BACKLOG = 20_000;
const LARGEST_BATCH = 1000;
/** MACs remembered at once; the longest silent go first. */
const MOST_ATTEMPTS = 50_000;

interface Attempt {
  readonly id: string;
  lastSeen: Instant;
}

export class TrailRecorder implements Trail, ObservableTrail {
  readonly #store: Pick<Store, 'appendEvents'>;
  readonly #now: () => Instant;
  readonly #observers = new Set<(note: TrailNote) => void>();
  readonly #attempts = new Map<Mac, Attempt>();
  #backlog: NewEvent[] = [];
  #lost = 0;
  readonly #floods = new Floods();
  readonly #strangers = new Allowance(STRANGERS_PER_SECOND);
  readonly #ofTheSite = new Allowance(OF_THE_SITE_PER_SECOND);
  #turnedAway = 0;
  #turnedAwayToldAt: Instant = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<Store, 'appendEvents'>, now: () => Instant) {
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

  #record({ kind, mac, machine, beginsAttempt = false, ofTheSite = false, data }: TrailNote): void {
    const at = this.#now();
    const allowance = ofTheSite ? this.#ofTheSite : this.#strangers;
    if (machine === null && !allowance.admits(at)) {
      this.#turnedAway += 1;
      return;
    }
    if (machine !== null && mac !== null && !this.#floods.admits({ mac, machine, kind, data }, at)) return;
    if (this.#backlog.length >= LARGEST_BACKLOG) {
      this.#lost += 1;
      return;
    }
    const attempt = mac === null ? null : this.#attemptOf(mac, at, beginsAttempt);
    const frame = { at, actor: mac === null ? 'network' : `mac:${mac}`, machine, correlationId: attempt };
    this.#backlog.push(newEvent(frame, kind, mac === null ? data : { mac, ...data }));
  }

  /** Writes what has gathered. A store that is away keeps it for the next turn. */
  async flush(): Promise<void> {
    this.#tellCounts(false);
    while (this.#backlog.length > 0) {
      // More comes, and more may be lost, while this is being written.
      const batch = this.#backlog.slice(0, LARGEST_BATCH);
      const lost = this.#lost;
      await this.#store.appendEvents(lost > 0 ? [...batch, this.#gap({ lost })] : batch);
      this.#lost -= lost;
      this.#backlog = this.#backlog.slice(batch.length);
    }
  }

  /** The last turn: what is still being counted is told now. */
  async close(): Promise<void> {
    this.#tellCounts(true);
    await this.flush();
  }

  #tellCounts(all: boolean): void {
    const at = this.#now();
    for (const flood of this.#floods.due(at, all)) this.#backlog.push(this.#flood(flood, at));
    if (this.#turnedAway === 0 || (!all && at - this.#turnedAwayToldAt < TELL_STRANGERS_EVERY)) return;
    this.#backlog.push(this.#gap({ lost: this.#turnedAway, of: 'strangers' }));
    this.#turnedAway = 0;
    this.#turnedAwayToldAt = at;
  }

  #attemptOf(mac: Mac, at: Instant, begins: boolean): string {
    const known = this.#attempts.get(mac);
    const goesOn = known !== undefined && at - known.lastSeen < ATTEMPT_GAP && !begins;
    const attempt = goesOn ? known : { id: randomUUID(), lastSeen: at };
    attempt.lastSeen = at;
    // Re-inserted, so that the map's order is the order of last being seen.
    this.#attempts.delete(mac);
    this.#attempts.set(mac, attempt);
    if (this.#attempts.size > MOST_ATTEMPTS) {
      for (const oldest of this.#attempts.keys()) {
        this.#attempts.delete(oldest);
        break;
      }
    }
    return attempt.id;
  }

  #flood({ note: { mac, machine }, data }: Flood, at: Instant): NewEvent {
    const correlationId = this.#attempts.get(mac)?.id ?? null;
    return { at, kind: 'trail.flood', actor: `mac:${mac}`, machine, correlationId, data: { mac, ...data } };
  }

  #gap(data: EventData<'trail.gap'>): NewEvent {
    return { at: this.#now(), kind: 'trail.gap', actor: 'appliance', machine: null, correlationId: null, data };
  }
}

/** So many in a second, and no more. */
class Allowance {
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
