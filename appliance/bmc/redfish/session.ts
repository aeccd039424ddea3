// The login session: a token that is requested once, renewed once after it expired, and always deleted. Some BMCs have only eight
// sessions, and a session that stays open blocks the next client.

import type { Instant } from '../../domain/instant.ts';
import type { Secret } from '../../domain/secret.ts';
import { BmcError } from '../bmc-error.ts';
import type { Converse, RedfishRequest, Reply } from './conversation.ts';
import { messagesIn, refusalOf, sessionsTaken } from './refusal.ts';
import { asResource, linkAt, pathOf, type Resource } from './resource.ts';

export interface RedfishLogin {
  readonly userName: string;
  readonly password: Secret;
}

export interface RedfishSession {
  /** The only resource that needs no login. */
  root(until: Instant): Promise<Resource>;
  send(request: RedfishRequest, until: Instant): Promise<Reply>;
  /** Logs in. The path of the user's account, if the BMC requires a password change first. */
  ownAccount(until: Instant): Promise<string | null>;
  /** Secrets that must not be shown: the password and every token. */
  secrets(): string[];
  /** Idempotent; a BMC that does not confirm expires the session by itself. Never rejects. */
  end(until: Instant): Promise<void>;
}

type Authentication =
  | { readonly kind: 'token'; readonly token: string; readonly path: string | null; readonly account: string | null }
  | { readonly kind: 'basic' };

const ROOT = '/redfish/v1/';

export function redfishSession(login: RedfishLogin, converse: Converse): RedfishSession {
  const password = new TextDecoder().decode(login.password.reveal());
  const basic = Buffer.from(`${login.userName}:${password}`).toString('base64');
  let service: Resource | null = null;
  let current: Authentication | null = null;
  const tokens = new Set<string>();

  const root = async (until: Instant): Promise<Resource> => {
    service ??= serviceOf(await converse({ method: 'GET', path: ROOT }, {}, until));
    return service;
  };

  const headers = (by: Authentication): Record<string, string> =>
    by.kind === 'token' ? { 'x-auth-token': by.token } : { authorization: `Basic ${basic}` };

  const open = async (until: Instant): Promise<Authentication> => {
    const path = sessionsPath(await root(until));
    if (path === null) return { kind: 'basic' };
    const body = { UserName: login.userName, Password: password };
    const reply = await converse({ method: 'POST', path, body }, {}, until);
    // Services without sessions reply with one of these, and support basic authentication only.
    if ([404, 405, 501].includes(reply.status)) return { kind: 'basic' };
    if (reply.status >= 300) throw loginRefusal(login.userName, path, reply);
    return authenticationOf(reply);
  };

  const authenticated = async (until: Instant): Promise<Authentication> => {
    current ??= await open(until);
    if (current.kind === 'token') tokens.add(current.token);
    return current;
  };

  const send = async (request: RedfishRequest, until: Instant): Promise<Reply> => {
    const first = await authenticated(until);
    const reply = await converse(request, headers(first), until);
    // The session expired, or the BMC restarted. The password was valid when the session was opened.
    if (reply.status !== 401 || first.kind === 'basic') return reply;
    current = null;
    return converse(request, headers(await authenticated(until)), until);
  };

  const end = async (until: Instant): Promise<void> => {
    const ending = current;
    current = null;
    service = null;
    if (ending?.kind !== 'token' || ending.path === null) return;
    await converse({ method: 'DELETE', path: ending.path, once: true }, headers(ending), until).catch(() => undefined);
  };

  return {
    root,
    send,
    end,
    ownAccount: async (until) => {
      const by = await authenticated(until);
      return by.kind === 'token' ? by.account : null;
    },
    secrets: () => [password, basic, ...tokens],
  };
}

function serviceOf(reply: Reply): Resource {
  if (reply.status === 404) throw new BmcError('unsupported', `no Redfish service: ${ROOT} is not found`);
  if (reply.status >= 300) throw refusalOf(`GET ${ROOT}`, reply.status, reply.body);
  const root = asResource(reply.body);
  if (!root) throw new BmcError('malformed', `GET ${ROOT}: the reply is not a Redfish service root`);
  return root;
}

function sessionsPath(root: Resource): string | null {
  const direct = linkAt(root, 'Links', 'Sessions');
  if (direct !== null) return direct;
  const service = linkAt(root, 'SessionService');
  return service === null ? null : `${service.replace(/\/$/, '')}/Sessions`;
}

function authenticationOf({ headers, body }: Reply): Authentication {
  const token = headers['x-auth-token'];
  const path = pathOf(headers.location ?? null) ?? linkAt(body);
  if (token === undefined || token === '') return { kind: 'basic' };
  return { kind: 'token', token, path, account: accountToChange(body) };
}

const accountToChange = (body: unknown): string | null =>
  messagesIn(body).flatMap(({ id, arguments: [account] }) =>
    id === 'PasswordChangeRequired' ? (pathOf(account ?? null) ?? []) : [],
  )[0] ?? null;

function loginRefusal(userName: string, path: string, reply: Reply): BmcError {
  const refusal = refusalOf(`POST ${path}`, reply.status, reply.body);
  if (sessionsTaken(refusal)) return refusal;
  if (reply.status !== 401 && reply.status !== 403) return refusal;
  return new BmcError('authentication', `the BMC rejects the login of ${JSON.stringify(userName)}: ${refusal.message}`);
}
