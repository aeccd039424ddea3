// Rate limit for events of one kind about one machine: any host that knows its MAC can request its script in a loop, and any that
// has read its ticket can present it again. The first events of a minute are stored; the others are counted, and the count is
// stored once a minute while the flood lasts.

import type { NewEvent } from '../domain/event.ts';
import type { EventData, EventKind } from '../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../domain/instant.ts';
import type { Mac } from '../domain/mac.ts';
import type { MachineId } from '../domain/machine.ts';

/** Events of one kind per minute: several times as many as a boot causes in which every step fails. */
const STORED_PER_MINUTE = 120;
/** Kinds that say the same each time: one is enough to act on, and they must not displace the others in the trail. */
const FEWER_PER_MINUTE: Partial<Readonly<Record<EventKind, number>>> = { 'session.refused': 5, 'session.reopened': 5 };

export interface FloodNote {
  /** Null: the machine itself reported it, in a session. */
  readonly mac: Mac | null;
  readonly machine: MachineId;
  readonly kind: EventKind;
  readonly data: NewEvent['data'];
}

export interface Flood {
  readonly note: FloodNote;
  readonly data: Omit<EventData<'trail.flood'>, 'mac'>;
}

interface Count {
  readonly since: Instant;
  seen: number;
  /** Counted and not reported yet; `last` is the newest of them. */
  unreported: number;
  last: FloodNote | null;
  /** The minute before was over the limit: all events are only counted until a minute stays below it. */
  readonly continues: boolean;
}

export class Floods {
  /** Key: MAC or machine, and kind. The oldest minute comes first. */
  readonly #counts = new Map<string, Count>();
  #ended: Flood[] = [];

  /** False: the event is only counted; do not store it. */
  admits(note: FloodNote, at: Instant): boolean {
    this.#endMinutes(at);
    const key = `${note.mac ?? note.machine} ${note.kind}`;
    const count = this.#counts.get(key) ?? { since: at, seen: 0, unreported: 0, last: null, continues: false };
    this.#counts.set(key, count);
    count.seen += 1;
    if (!count.continues && count.seen <= mostOf(note.kind)) return true;
    count.unreported += 1;
    count.last = note;
    return false;
  }

  /** The counts of the minutes that have ended; with `all`, every count, because the appliance stops. */
  due(at: Instant, all = false): readonly Flood[] {
    if (all) for (const [key, count] of this.#counts) this.#end(key, count, at);
    else this.#endMinutes(at);
    const ended = this.#ended;
    this.#ended = [];
    return ended;
  }

  #endMinutes(at: Instant): void {
    for (const [key, count] of this.#counts) {
      if (at - count.since < MINUTE) break;
      this.#end(key, count, at);
    }
  }

  #end(key: string, { since, seen, unreported, last }: Count, at: Instant): void {
    this.#counts.delete(key);
    if (last === null) return;
    const seconds = Math.round((at - since) / SECOND);
    this.#ended.push({ note: last, data: { of: last.kind, count: unreported, seconds, last: last.data } });
    if (seen > mostOf(last.kind))
      this.#counts.set(key, { since: at, seen: 0, unreported: 0, last: null, continues: true });
  }
}

const mostOf = (kind: EventKind): number => FEWER_PER_MINUTE[kind] ?? STORED_PER_MINUTE;
