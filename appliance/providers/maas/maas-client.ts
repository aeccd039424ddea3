// One request to the HTTP API of MAAS: signed, with a time limit and a size limit, without following redirects. Forms are urlencoded: MAAS
// loses the values of a JSON body.

import http from 'node:http';
import https from 'node:https';
import { type Instant, SECOND } from '../../domain/instant.ts';
import { plainLine } from '../../domain/plain-line.ts';
import { maskSecrets } from '../../domain/secret-masks.ts';
import { MaasRejected, MaasUnavailable } from './maas-error.ts';
import { authorization } from './oauth.ts';
import type { MaasSettings } from './settings.ts';

export type Fields = readonly (readonly [name: string, value: string])[];

export interface MaasClientDeps {
  readonly settings: MaasSettings;
  readonly now: () => Instant;
  /** A text that was never used before. */
  readonly nonce: () => string;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly location: string | null;
  readonly body: string;
}

const LARGEST_ANSWER = 64 * 1024 * 1024;
const IDLE_CONNECTION = 30 * SECOND;
const MOST_REASON = 300;

export class MaasClient {
  readonly #deps: MaasClientDeps;
  readonly #agent: http.Agent;

  constructor(deps: MaasClientDeps) {
    this.#deps = deps;
    const { api, ca } = deps.settings;
    const settings = { keepAlive: true, maxSockets: 8, timeout: IDLE_CONNECTION };
    this.#agent =
      api.protocol === 'https:'
        ? new https.Agent({ ...settings, ...(ca !== null && { ca }) })
        : new http.Agent(settings);
  }

  /** `path` ends with a slash, as MAAS wants it. */
  get(path: string, query: Fields = []): Promise<unknown> {
    return this.#json('GET', path, query, null);
  }

  /** `op` is null for a plain POST. */
  post(path: string, op: string | null, form: Fields = []): Promise<unknown> {
    return this.#json('POST', path, op === null ? [] : [['op', op]], form);
  }

  put(path: string, form: Fields): Promise<unknown> {
    return this.#json('PUT', path, [], form);
  }

  close(): void {
    this.#agent.destroy();
  }

  async #json(method: string, path: string, query: Fields, form: Fields | null): Promise<unknown> {
    const answer = await this.#send(method, path, query, form);
    refuse(answer);
    if (answer.status === 204 || answer.body === '') return null;
    // A proxy or a login page before MAAS answers with 200, too.
    if (!answer.type.includes('json')) {
      throw new MaasUnavailable(`MAAS answered with ${answer.type || 'no content type'} instead of JSON`);
    }
    try {
      return JSON.parse(answer.body);
    } catch {
      throw new MaasUnavailable('MAAS answered with JSON that cannot be read');
    }
  }

  async #send(method: string, path: string, query: Fields, form: Fields | null): Promise<Answer> {
    const { settings, now, nonce } = this.#deps;
    const key = await settings.key();
    if (!key.ok) throw new MaasUnavailable(`the key of MAAS cannot be used: ${key.reason}`);
    const url = new URL(path, settings.api);
    for (const [name, value] of query) url.searchParams.append(name, value);
    const body = form === null ? null : encodedForm(form);
    const limit = AbortSignal.timeout(settings.timeout);
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const fail = (error: Error): void =>
      reject(
        new MaasUnavailable(
          limit.aborted
            ? `MAAS did not answer within ${settings.timeout / SECOND} s`
            : `MAAS cannot be reached: ${causeOf(error)}`,
        ),
      );
    const { request } = url.protocol === 'https:' ? https : http;
    const sent = request(url, {
      method,
      agent: this.#agent,
      signal: limit,
      headers: {
        accept: 'application/json',
        'user-agent': 'coldiron',
        authorization: authorization(key.value, nonce(), Math.floor(now() / SECOND)),
        ...(body && { 'content-type': 'application/x-www-form-urlencoded', 'content-length': body.length }),
      },
    });
    sent.on('error', fail);
    sent.on('response', (answer) => {
      const chunks: Buffer[] = [];
      let size = 0;
      answer.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > LARGEST_ANSWER) answer.destroy(new Error('its answer is too large'));
        else chunks.push(chunk);
      });
      answer.on('error', fail);
      answer.on('aborted', () => fail(new Error('its answer was cut off')));
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          type: (answer.headers['content-type'] ?? '').toLowerCase(),
          location: answer.headers.location ?? null,
          body: Buffer.concat(chunks).toString('utf8'),
        }),
      );
    });
    sent.end(body ?? undefined);
    return promise;
  }
}

/** A list is a repeated key. */
function encodedForm(form: Fields): Buffer {
  const parameters = new URLSearchParams();
  for (const [name, value] of form) parameters.append(name, value);
  return Buffer.from(parameters.toString());
}

function refuse({ status, type, location, body }: Answer): void {
  if (status >= 200 && status < 300) return;
  // The reason of a 401 may contain the expected signature.
  if (status === 401) throw new MaasUnavailable('MAAS rejects the API key (401)');
  if (status >= 300 && status < 400) {
    throw new MaasUnavailable(`MAAS redirects to ${line(location ?? 'nowhere')}: set maas.url to where it is`);
  }
  const isHtml = type.includes('html');
  // MAAS gives up after ten tries when its database is contended, and says so in HTML. A state that forbids the request is plain text.
  if (status >= 500 || status === 429 || (status === 409 && isHtml)) {
    const why = isHtml || body === '' ? '' : `: ${line(body)}`;
    throw new MaasUnavailable(status === 409 ? 'MAAS is too busy to do it now (409)' : `MAAS failed (${status})${why}`);
  }
  const { text, fields } = problemsIn(body, type);
  throw new MaasRejected(status, text === '' ? (NO_REASON[status] ?? `MAAS refuses (${status})`) : text, fields);
}

const NO_REASON: Readonly<Record<number, string>> = {
  403: 'MAAS refuses (403): the machine is locked, or the key belongs to a user without the right to do it',
  404: 'MAAS does not have it (404)',
};

/** `{"field":["message"],"__all__":["message"]}`, or one line of text. */
function problemsIn(body: string, type: string): { text: string; fields: string[] } {
  if (!type.includes('json')) return { text: type.includes('html') ? '' : line(body), fields: [] };
  try {
    const found: unknown = JSON.parse(body);
    if (typeof found !== 'object' || found === null) return { text: line(String(found)), fields: [] };
    const entries = Object.entries(found);
    const words = entries.map(([field, list]) => {
      const said = (Array.isArray(list) ? list : [list]).map(String).join(' ');
      return field === '__all__' ? said : `${field}: ${said}`;
    });
    return { text: line(words.join('; ')), fields: entries.map(([field]) => field) };
  } catch {
    return { text: line(body), fields: [] };
  }
}

const line = (text: string): string => maskSecrets(plainLine(text.trim().replace(/\s+/g, ' '))).slice(0, MOST_REASON);

/** Several addresses give one error without a message. */
function causeOf(error: Error & { readonly code?: string; readonly errors?: readonly Error[] }): string {
  return error.message || error.errors?.[0]?.message || error.code || 'the connection failed';
}
