// A machine that fetches the same loader again and again and never comes for its script is in a loop: its iPXE is not
// recognised, or what it was sent does not start. The first has a way out: an iPXE whose own script has replaced its user class,
// behind a relay that drops option 175, looks like firmware and still starts the script. So after a while the script is tried
// once. Firmware cannot start it and asks again; then it gets its loader again.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Mac } from '../../domain/mac.ts';

const WINDOW_MS = 5 * MINUTE;
const LOOKS_LIKE_A_LOOP = 3;
/** More often than anybody presses the button of a server within the window. */
const IS_A_LOOP = 5;
/** The machines that asked last; whoever loops is among them. */
const MOST_REMEMBERED = 4096;

interface Asked {
  readonly file: string;
  readonly xid: number;
  readonly times: readonly Instant[];
  /** The exchange in which it is taken for iPXE. */
  readonly triedIn: number | null;
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
    this.#asked.set(mac, { file, xid, times, triedIn: null });
    return times.length >= LOOKS_LIKE_A_LOOP ? times.length : null;
  }

  /** Whether it is to be taken for an iPXE that does not say so: in one exchange, after a loop. */
  isTakenForIpxe(mac: Mac, xid: number, now: Instant): boolean {
    const asked = this.#asked.get(mac) ?? this.#earlier.get(mac);
    if (asked === undefined || asked.xid === xid) return false;
    if (asked.times.filter((at) => at > now - WINDOW_MS).length < IS_A_LOOP) return false;
    if (asked.triedIn === null) this.#asked.set(mac, { ...asked, triedIn: xid });
    else if (asked.triedIn !== xid) {
      this.scriptFetched(mac);
      return false;
    }
    return true;
  }

  /** It got through to the next stage, or is given another chance to. */
  scriptFetched(mac: Mac): void {
    this.#asked.delete(mac);
    this.#earlier.delete(mac);
  }
}
