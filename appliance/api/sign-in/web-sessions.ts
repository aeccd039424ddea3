// Sessions of the web page: opened with a token or a one-time code, found by the cookie, ended by signing out, by time, or with
// the token that opened them.

import { randomBytes, timingSafeEqual } from 'node:crypto';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import { isUsable, type Role, type TokenId } from '../../domain/token.ts';
import {
  parseSessionCookie,
  WEB_SESSION_LONGEST,
  type WebSession,
  type WebSessionId,
  webSessionEnd,
} from '../../domain/web-session.ts';
import type { Store } from '../../store/store.ts';
import type { WebSessionStore } from '../../store/web-session-store.ts';
import type { Authenticate, Authentication } from '../access.ts';
import { hashSecret } from '../api-token.ts';
import type { Clock } from '../clock.ts';
import { cookieOf } from './cookie.ts';
import { crossSiteReason } from './same-origin.ts';

/** Whoever a session acts for. */
export interface Holder {
  readonly actor: string;
  readonly role: Role;
  /** With it, the session ends when the token is revoked or expires. */
  readonly token: TokenId | null;
  /** The session ends then, if not sooner. */
  readonly until?: Instant;
}

export interface OpenedSession {
  readonly session: WebSession;
  /** The value of the cookie. */
  readonly cookie: string;
}

/** A session that is in use writes its time of use at most this often. */
const TOUCH_EVERY = MINUTE;

type SessionStore = WebSessionStore & Pick<Store, 'token'>;

const over = (reason: string): Authentication => ({ known: false, reason, retryAfterSeconds: null });

export class WebSessions {
  readonly #store: SessionStore;
  readonly #clock: Clock;
  /** An open stream is checked again and again; only its request counts as use. */
  readonly #counted = new WeakSet<object>();

  constructor(store: SessionStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  async open(holder: Holder, correlationId: string | null): Promise<OpenedSession> {
    const now = this.#clock.now();
    const id = randomBytes(6).toString('hex') as WebSessionId;
    const secret = randomBytes(32).toString('base64url');
    const { until, ...who } = holder;
    const expiresAt = Math.min(now + WEB_SESSION_LONGEST, until ?? Number.POSITIVE_INFINITY);
    const session = { id, ...who, createdAt: now, usedAt: now, expiresAt };
    await this.#store.createWebSession(session, hashSecret(secret), {
      ...{ at: now, actor: holder.actor, action: 'session.opened', target: `session:${id}`, correlationId },
      before: null,
      after: { role: holder.role, token: holder.token, expires_at: expiresAt },
    });
    return { session, cookie: `${id}.${secret}` };
  }

  async end(session: WebSession, correlationId: string | null): Promise<void> {
    await this.#store.endWebSession(session.id, {
      ...{ at: this.#clock.now(), actor: session.actor, action: 'session.ended', target: `session:${session.id}` },
      ...{ correlationId, before: { role: session.role }, after: null },
    });
  }

  /** For requests with our cookie. Requests with an Authorization header never get here. */
  readonly authenticate: Authenticate = async (request) => {
    const foreign = crossSiteReason(request);
    if (foreign !== null) return over(foreign);
    const presented = parseSessionCookie(cookieOf(request.headers) ?? '');
    const found = presented.ok ? await this.#store.webSession(presented.value.id) : null;
    const secret = presented.ok ? presented.value.secret : '';
    if (found === null || !matches(found.secretHash, secret)) return over('you are signed out');
    const reason = await this.#endReason(found.session);
    if (reason !== null) return over(reason);
    const session = await this.#touched(found.session, request);
    return { known: true, caller: { actor: session.actor, role: session.role, session } };
  };

  async #endReason(session: WebSession): Promise<string | null> {
    const now = this.#clock.now();
    if (now >= session.expiresAt) return 'the session has reached its longest time: sign in again';
    if (now >= webSessionEnd(session)) return 'the session was not used for 30 minutes: sign in again';
    if (session.token === null) return null;
    const opened = await this.#store.token(session.token);
    return opened !== null && isUsable(opened.token, now)
      ? null
      : 'the token that opened this session was revoked or has expired';
  }

  async #touched(session: WebSession, request: object): Promise<WebSession> {
    const now: Instant = this.#clock.now();
    if (this.#counted.has(request)) return session;
    this.#counted.add(request);
    if (now - session.usedAt < TOUCH_EVERY) return session;
    await this.#store.touchWebSession(session.id, now);
    return { ...session, usedAt: now };
  }
}

const matches = (expected: string, secret: string): boolean =>
  timingSafeEqual(Buffer.from(expected, 'hex'), Buffer.from(hashSecret(secret), 'hex'));

/** A bearer token decides where one was sent; otherwise the cookie, if there is one. */
export const pageOrToken =
  (bearer: Authenticate, sessions: WebSessions): Authenticate =>
  (request) =>
    request.headers.authorization === undefined && cookieOf(request.headers) !== null
      ? sessions.authenticate(request)
      : bearer(request);
