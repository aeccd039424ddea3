// Being logged in: a token that is asked for once, renewed once when it has run out, and always given back. BMCs have as few as
// eight sessions, and whoever leaves one behind locks the next one out.

import type { Instant } from '../../domain/instant.ts';
import type { Secret } from '../../domain/secret.ts';
import { BmcError } from '../bmc-error.ts';
import type { Ask, Converse, Reply } from './conversation.ts';
import { messagesIn, refusalOf, sessionsTaken } from './refusal.ts';
import { asResource, linkAt, pathOf, type Resource } from './resource.ts';

export interface RedfishLogin {
  readonly userName: string;
  readonly password: Secret;
}

export interface RedfishSession {
  /** The one resource that needs no login. */
  root(until: Instant): Promise<Resource>;
  ask(ask: Ask, until: Instant): Promise<Reply>;
  /** Logs in. Where the user's account is, if the BMC named it because it wants a new password before anything else. */
  ownAccount(until: Instant): Promise<string | null>;
  /** What must not be shown to anybody: the password and every token. */
  secrets(): string[];
  /** Twice is once; a BMC that does not confirm forgets the session by itself. Never rejects. */
  end(until: Instant): Promise<void>;
}

type Standing =
  | { readonly kind: 'token'; readonly token: string; readonly path: string | null; readonly account: string | null }
  | { readonly kind: 'basic' };

const ROOT = '/redfish/v1/';

export function redfishSession(login: RedfishLogin, converse: Converse): RedfishSession {
  const password = new TextDecoder().decode(login.password.reveal());
  const basic = Buffer.from(`${login.userName}:${password}`).toString('base64');
  let service: Resource | null = null;
  let standing: Standing | null = null;
  const tokens = new Set<string>();

  const root = async (until: Instant): Promise<Resource> => {
    service ??= serviceOf(await converse({ method: 'GET', path: ROOT }, {}, until));
    return service;
  };

  const headers = (by: Standing): Record<string, string> =>
    by.kind === 'token' ? { 'x-auth-token': by.token } : { authorization: `Basic ${basic}` };

  const open = async (until: Instant): Promise<Standing> => {
    const path = sessionsPath(await root(until));
    if (path === null) return { kind: 'basic' };
    const body = { UserName: login.userName, Password: password };
    const reply = await converse({ method: 'POST', path, body }, {}, until);
    // Services without sessions say so in one of these ways, and then basic authentication is what they have.
    if ([404, 405, 501].includes(reply.status)) return { kind: 'basic' };
    if (reply.status >= 300) throw loginRefusal(login.userName, path, reply);
    return standingOf(reply);
  };

  const held = async (until: Instant): Promise<Standing> => {
    standing ??= await open(until);
    if (standing.kind === 'token') tokens.add(standing.token);
    return standing;
  };

  const ask = async (request: Ask, until: Instant): Promise<Reply> => {
    const first = await held(until);
    const reply = await converse(request, headers(first), until);
    // A session that ran out, or a BMC that started anew. The password was right when the session began.
    if (reply.status !== 401 || first.kind === 'basic') return reply;
    standing = null;
    return converse(request, headers(await held(until)), until);
  };

  const end = async (until: Instant): Promise<void> => {
    const ending = standing;
    standing = null;
    service = null;
    if (ending?.kind !== 'token' || ending.path === null) return;
    await converse({ method: 'DELETE', path: ending.path, once: true }, headers(ending), until).catch(() => undefined);
  };

  return {
    root,
    ask,
    end,
    ownAccount: async (until) => {
      const by = await held(until);
      return by.kind === 'token' ? by.account : null;
    },
    secrets: () => [password, basic, ...tokens],
  };
}

function serviceOf(reply: Reply): Resource {
  if (reply.status === 404) throw new BmcError('unsupported', `no Redfish here: ${ROOT} is not found`);
  if (reply.status >= 300) throw refusalOf(`GET ${ROOT}`, reply.status, reply.body);
  const root = asResource(reply.body);
  if (!root) throw new BmcError('malformed', `GET ${ROOT}: the answer is not a Redfish service`);
  return root;
}

function sessionsPath(root: Resource): string | null {
  const direct = linkAt(root, 'Links', 'Sessions');
  if (direct !== null) return direct;
  const service = linkAt(root, 'SessionService');
  return service === null ? null : `${service.replace(/\/$/, '')}/Sessions`;
}

function standingOf({ headers, body }: Reply): Standing {
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
  return new BmcError('authentication', `the BMC does not let ${JSON.stringify(userName)} in: ${refusal.message}`);
}
