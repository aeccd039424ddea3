// A machine that fetches the same loader again and again and never comes for its script is in a loop: its iPXE is not
// recognised, or what it was sent does not start.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Mac } from '../../domain/mac.ts';

const WINDOW_MS = 5 * MINUTE;
const LOOKS_LIKE_A_LOOP = 3;
/** The machines that asked last; whoever loops is among them. */
const MOST_REMEMBERED = 4096;

interface Asked {
  readonly file: string;
  readonly xid: number;
  readonly times: readonly Instant[];
}

export class LoopGuard {
  /** Two generations: when the younger is full, the older goes, and nothing has to be searched for. */
  #asked = new Map<Mac, Asked>();
  #earlier = new Map<Mac, Asked>();

  /** How many times in a row it was sent to this file, when that is a loop; null while it is not. */
  sentTo(file: string, mac: Mac, xid: number, now: Instant): number | null {
    const before = this.#asked.get(mac) ?? this.#earlier.get(mac);
    // The same exchange repeated is a lost packet, not another boot.
    if (before?.file === file && before.xid === xid) return null;
    const recent = before?.file === file ? before.times.filter((at) => at > now - WINDOW_MS) : [];
    const times = [...recent, now];
    if (this.#asked.size >= MOST_REMEMBERED) {
      this.#earlier = this.#asked;
      this.#asked = new Map();
    }
    this.#asked.set(mac, { file, xid, times });
    return times.length >= LOOKS_LIKE_A_LOOP ? times.length : null;
  }

  /** It got through to the next stage. */
  scriptFetched(mac: Mac): void {
    this.#asked.delete(mac);
    this.#earlier.delete(mac);
  }
}
