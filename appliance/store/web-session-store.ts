// Sessions of the web page: who is signed in.

import type { NewAuditEntry } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { WebSession, WebSessionId } from '../domain/web-session.ts';

/** Each method is one transaction, as `store.ts` promises. */
export interface WebSessionStore {
  createWebSession(session: WebSession, secretHash: string, audit: NewAuditEntry): Promise<void>;
  webSession(id: WebSessionId): Promise<{ session: WebSession; secretHash: string } | null>;
  /** Never moves the time back. Has no effect on a session that is gone. */
  touchWebSession(id: WebSessionId, usedAt: Instant): Promise<void>;
  /** False when there is no such session. */
  endWebSession(id: WebSessionId, audit: NewAuditEntry): Promise<boolean>;
  /** Deletes sessions that expired, or were last used, before these times. Returns how many. */
  trimWebSessions(expiredBefore: Instant, usedBefore: Instant): Promise<number>;
}
