// BMCs lock out users, and sometimes whole addresses, after a few wrong passwords. After two failures no caller may log in to
// this BMC for a while. A password that was not tried yet is allowed: an operator has corrected it.

import { type Instant, MINUTE } from '../domain/instant.ts';

export interface LockOutRule {
  readonly failuresAllowed: number;
  readonly lockedFor: number;
}

export const LOCK_OUT: LockOutRule = { failuresAllowed: 2, lockedFor: 5 * MINUTE };

export class LockOut {
  readonly #rule: LockOutRule;
  /** Failures per credential, keyed by a fingerprint that does not reveal it. */
  readonly #failures = new Map<string, number>();
  /** Failures since the last new credential. */
  #sinceCorrected = 0;
  #until: Instant = 0;

  constructor(rule: LockOutRule = LOCK_OUT) {
    this.#rule = rule;
  }

  /** When this credential may be retried; null: now. */
  lockedUntil(credential: string, now: Instant): Instant | null {
    if (now >= this.#until) {
      this.succeeded();
      return null;
    }
    const failed = this.#failures.get(credential);
    if (failed === undefined) return null;
    const { failuresAllowed } = this.#rule;
    return failed >= failuresAllowed || this.#sinceCorrected >= failuresAllowed ? this.#until : null;
  }

  failed(credential: string, now: Instant): void {
    const before = this.#failures.get(credential) ?? 0;
    if (before === 0 && this.#sinceCorrected >= this.#rule.failuresAllowed) this.#sinceCorrected = 0;
    this.#failures.set(credential, before + 1);
    this.#sinceCorrected += 1;
    this.#until = now + this.#rule.lockedFor;
  }

  succeeded(): void {
    this.#failures.clear();
    this.#sinceCorrected = 0;
    this.#until = 0;
  }
}
