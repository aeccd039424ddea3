// Requests with an Idempotency-Key: which ran, and their replies. Keys, and replies that contain secrets, are never stored.

import type { Json } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';

export type RequestOutcome =
  | { readonly kind: 'answer'; readonly answer: Json }
  | {
      readonly kind: 'error';
      readonly code: string;
      readonly message: string;
      readonly details: readonly string[];
      readonly hint?: string;
    }
  /** The request succeeded; its reply was not stored. */
  | { readonly kind: 'not-kept'; readonly because: 'secret' | 'size' };

export interface RequestClaim {
  /** Derived from caller and key; the key itself is not stored. */
  readonly id: string;
  /** Equal only for equal requests. */
  readonly fingerprint: string;
  readonly operation: string;
  /** The process that runs it. */
  readonly holder: string;
  readonly at: Instant;
}

export interface KeptRequest extends RequestClaim {
  /** Null: it is running, or its holder died while it ran. */
  readonly finished: { readonly at: Instant; readonly outcome: RequestOutcome } | null;
}

/** Each method is one transaction, as `store.ts` promises. */
export interface RequestStore {
  /** Null: only this caller runs it. A request that was claimed before `expiredBefore` is deleted first. */
  claimRequest(claim: RequestClaim, expiredBefore: Instant): Promise<KeptRequest | null>;
  /** Takes over from a holder that died. True for exactly one caller. */
  takeOverRequest(id: string, from: string, claim: Pick<RequestClaim, 'holder' | 'at'>): Promise<boolean>;
  /** Has no effect unless `holder` still runs it. */
  finishRequest(id: string, holder: string, at: Instant, outcome: RequestOutcome): Promise<void>;
  /** Nothing was done: the key may be used again. Has no effect unless `holder` still runs it. */
  releaseRequest(id: string, holder: string): Promise<void>;
  /** Deletes requests that were claimed before this time. Returns how many. */
  trimRequests(before: Instant): Promise<number>;
}
