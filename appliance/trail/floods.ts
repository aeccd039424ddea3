// Too much of one kind about one machine: whoever knows its MAC can ask for its script in a loop. The first notes of a minute are
// kept; the others are counted, and told once a minute for as long as it lasts.

import type { EventData } from '../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../domain/instant.ts';
import type { Mac } from '../domain/mac.ts';
import type { MachineId } from '../domain/machine.ts';
import type { TrailNote } from './trail.ts';

/** Of one kind, in a minute: several times what a boot makes that goes wrong at every turn. */
const KEPT = 120;

export interface FloodNote {
  readonly mac: Mac;
  readonly machine: MachineId;
  readonly kind: TrailNote['kind'];
  readonly data: TrailNote['data'];
}

export interface Flood {
  readonly note: FloodNote;
  readonly data: Omit<EventData<'trail.flood'>, 'mac'>;
}

interface Count {
  readonly since: Instant;
  seen: number;
  /** Counted, and not told yet; with the last of them. */
  untold: number;
  last: FloodNote | null;
  /** It was too much in the minute before: all of it is counted until a minute is quiet. */
  readonly goesOn: boolean;
}

export class Floods {
  /** By MAC and kind. The oldest minute comes first. */
  readonly #counts = new Map<string, Count>();
  #told: Flood[] = [];

  /** False: it is counted, and not to be kept. */
  admits(note: FloodNote, at: Instant): boolean {
    this.#endMinutes(at);
    const key = `${note.mac} ${note.kind}`;
    const count = this.#counts.get(key) ?? { since: at, seen: 0, untold: 0, last: null, goesOn: false };
    this.#counts.set(key, count);
    count.seen += 1;
    if (!count.goesOn && count.seen <= KEPT) return true;
    count.untold += 1;
    count.last = note;
    return false;
  }

  /** What is to be told by now; all of it when the appliance stops. */
  due(at: Instant, all = false): readonly Flood[] {
    if (all) for (const [key, count] of this.#counts) this.#end(key, count, at);
    else this.#endMinutes(at);
    const told = this.#told;
    this.#told = [];
    return told;
  }

  #endMinutes(at: Instant): void {
    for (const [key, count] of this.#counts) {
      if (at - count.since < MINUTE) break;
      this.#end(key, count, at);
    }
  }

  #end(key: string, { since, seen, untold, last }: Count, at: Instant): void {
    this.#counts.delete(key);
    if (last !== null) {
      const seconds = Math.round((at - since) / SECOND);
      this.#told.push({ note: last, data: { of: last.kind, count: untold, seconds, last: last.data } });
    }
    if (seen > KEPT) this.#counts.set(key, { since: at, seen: 0, untold: 0, last: null, goesOn: true });
  }
}
