// Handlers of signing in to the web page.

import type { Answer } from '../../contract/wire.ts';
import { ColdironError } from '../../domain/errors.ts';
import { instantText, SECOND } from '../../domain/instant.ts';
import { WEB_SESSION_LONGEST, webSessionEnd } from '../../domain/web-session.ts';
import type { Caller } from '../access.ts';
import type { Handlers } from '../handler.ts';
import { NO_SESSION_COOKIE, sessionCookie } from '../sign-in/cookie.ts';

export const signInHandlers: Handlers<'getSession' | 'signIn' | 'signOut' | 'createSignInCode'> = {
  getSession: (_deps, { caller }) => whoIs(known(caller)),

  async signIn({ signIn }, { body, ip, headers, origin, setHeader }) {
    const { session, cookie } = await signIn.open(body, { ip, headers, correlationId: origin.correlationId });
    setHeader('set-cookie', sessionCookie(cookie, WEB_SESSION_LONGEST / SECOND));
    return whoIs({ actor: session.actor, role: session.role, session });
  },

  async signOut({ webSessions }, { caller, origin, setHeader }) {
    const { session } = known(caller);
    if (session === undefined) throw new ColdironError('conflict', 'this request was not sent by the web page');
    await webSessions.end(session, origin.correlationId);
    setHeader('set-cookie', NO_SESSION_COOKIE);
    return {};
  },

  createSignInCode({ signInCodes, pageUrl }, { caller }) {
    const { actor, role, token, session } = known(caller);
    const holder = { actor, role, token: token ?? session?.token ?? null };
    // A session cannot prolong itself.
    const until = session === undefined ? {} : { until: session.expiresAt };
    const { code, expiresAt } = signInCodes.create({ ...holder, ...until });
    const base = pageUrl();
    return { code, expires_at: instantText(expiresAt), url: base === null ? null : `${base}/sign-in#code=${code}` };
  },
};

function known(caller: Caller | null): Caller {
  if (caller === null) throw new Error('bug: this route authenticates');
  return caller;
}

const whoIs = ({ actor, role, session }: Caller): Answer<'getSession'> => ({
  actor,
  role,
  session:
    session === undefined
      ? null
      : {
          created_at: instantText(session.createdAt),
          ends_at: instantText(webSessionEnd(session)),
          expires_at: instantText(session.expiresAt),
        },
});
