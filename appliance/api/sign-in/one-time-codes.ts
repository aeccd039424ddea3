// One-time codes that open the web page: whoever may use the API passes that right to a browser. They live in memory, for a few
// minutes; only hashes are kept.

import { randomBytes } from 'node:crypto';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import { hashSecret } from '../api-token.ts';
import type { Clock } from '../clock.ts';
import type { Holder } from './web-sessions.ts';

export const CODE_LIFETIME = 5 * MINUTE;
/** Above this limit the oldest code is dropped. */
const MOST_CODES = 100;

export class OneTimeCodes {
  readonly #clock: Clock;
  readonly #codes = new Map<string, { readonly holder: Holder; readonly expiresAt: Instant }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  create(holder: Holder): { readonly code: string; readonly expiresAt: Instant } {
    const code = randomBytes(32).toString('base64url');
    const expiresAt = this.#clock.now() + CODE_LIFETIME;
    this.#codes.set(hashSecret(code), { holder, expiresAt });
    for (const oldest of this.#codes.keys()) {
      if (this.#codes.size <= MOST_CODES) break;
      this.#codes.delete(oldest);
    }
    return { code, expiresAt };
  }

  /** The holder of a code, once. Null: it is not known, was used, or has expired. */
  use(code: string): Holder | null {
    const hash = hashSecret(code);
    const found = this.#codes.get(hash);
    this.#codes.delete(hash);
    return found !== undefined && this.#clock.now() < found.expiresAt ? found.holder : null;
  }
}
