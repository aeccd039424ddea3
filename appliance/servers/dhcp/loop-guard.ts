// A machine that fetches the same loader repeatedly and never its script is in a boot loop: its iPXE is not recognised, or the
// loader does not start. The first case can be resolved: an iPXE whose own script replaced its user class, behind a relay that
// drops option 175, looks like firmware but can start the script. So after a number of rounds the script is offered once.
// Firmware cannot start it and sends a new request; then it gets its loader again.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Mac } from '../../domain/mac.ts';

const WINDOW_MS = 5 * MINUTE;
const LOOKS_LIKE_A_LOOP = 3;
/** More often than a person restarts a server within the window. */
const IS_A_LOOP = 5;
/** Only the most recent machines are kept; a machine in a loop is among them. */
const MAX_REMEMBERED = 4096;

interface LoaderRequests {
  readonly file: string;
  readonly xid: number;
  readonly times: readonly Instant[];
  /** The exchange (xid) in which the machine is treated as iPXE. */
  readonly triedIn: number | null;
}

export class LoopGuard {
  /** Two generations: when the younger is full, the older is dropped, without a search. */
  #recent = new Map<Mac, LoaderRequests>();
  #earlier = new Map<Mac, LoaderRequests>();

  /**
   * How many times in a row the machine was sent to this file, if that is a loop; otherwise null. `since`: when its work began. Boots of
   * earlier work do not count: whoever starts it anew makes no loop.
   */
  sentTo(file: string, mac: Mac, xid: number, now: Instant, since: Instant = 0): number | null {
    const before = this.#recent.get(mac) ?? this.#earlier.get(mac);
    // A repeated exchange is a lost packet, not another boot.
    if (before?.file === file && before.xid === xid) return null;
    const inWindow = before?.file === file ? before.times.filter((at) => at > Math.max(now - WINDOW_MS, since)) : [];
    const times = [...inWindow, now];
    if (this.#recent.size >= MAX_REMEMBERED) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(mac, { file, xid, times, triedIn: null });
    return times.length >= LOOKS_LIKE_A_LOOP ? times.length : null;
  }

  /** Whether to treat the machine as an iPXE that does not identify itself: in one exchange, after a loop. */
  isTakenForIpxe(mac: Mac, xid: number, now: Instant): boolean {
    const known = this.#recent.get(mac) ?? this.#earlier.get(mac);
    if (known === undefined || known.xid === xid) return false;
    if (known.times.filter((at) => at > now - WINDOW_MS).length < IS_A_LOOP) return false;
    if (known.triedIn === null) this.#recent.set(mac, { ...known, triedIn: xid });
    else if (known.triedIn !== xid) {
      this.scriptFetched(mac);
      return false;
    }
    return true;
  }

  /** Resets the count: the machine reached the next stage, or gets its loader again. */
  scriptFetched(mac: Mac): void {
    this.#recent.delete(mac);
    this.#earlier.delete(mac);
  }
}
