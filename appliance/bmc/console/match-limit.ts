// How many matches of one console become events: the first ones of each signature in a boot, and a limited number in an hour. A
// machine can print what it likes, as often as it likes.

import { HOUR, type Instant } from '../../domain/instant.ts';

const PER_SIGNATURE = 2;
const PER_HOUR = 60;

export class MatchLimit {
  readonly #seen = new Map<string, Set<string>>();
  #hour: Instant = Number.NEGATIVE_INFINITY;
  #inHour = 0;

  beginBoot(): void {
    this.#seen.clear();
  }

  /** False: no event. A repeated line is none either. */
  admits(signature: string, line: string, now: Instant): boolean {
    const lines = this.#seen.get(signature) ?? new Set();
    if (lines.size >= PER_SIGNATURE || lines.has(withoutTime(line))) return false;
    if (now - this.#hour >= HOUR) {
      this.#hour = now;
      this.#inHour = 0;
    }
    if (this.#inHour >= PER_HOUR) return false;
    this.#inHour += 1;
    this.#seen.set(signature, lines.add(withoutTime(line)));
    return true;
  }
}

/** Without the time that the kernel prints at the beginning of a line. */
const withoutTime = (line: string): string => line.replace(/^\[ {0,8}\d{1,9}\.\d{6}\] /, '');
