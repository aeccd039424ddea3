// How the CLI connects to an appliance: over the socket in its state folder, where file permissions give access, or
// over HTTP with a token.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import http from 'node:http';
import { dirname, join, resolve } from 'node:path';
import type { Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { readDocument } from '../documents/document.ts';
import { ColdironError, ERRORS, type ErrorCode } from '../domain/errors.ts';

export interface ConnectionOptions {
  readonly config?: string;
  readonly state?: string;
  readonly server?: string;
  readonly tokenFile?: string;
  readonly caFile?: string;
  readonly json?: boolean;
}

export interface Connection {
  /** Verbs use `operate`, which takes the path and the type of the answer from the operation table. */
  call<T>(method: Method, path: string, sent: Sent): Promise<T>;
  /** The connection, after the appliance has switched it to that protocol (RFC 9110 §7.8). */
  upgrade(path: string, query: Query, protocol: string): Promise<Duplex>;
  /** Posts JSON and returns the answer as it arrives, whatever its status. */
  post(
    path: string,
    body: string,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<http.IncomingMessage>;
  /** An answer without end, as text. It fails when nothing arrives for a while, not even a heartbeat. */
  stream(path: string, query: Query, signal: AbortSignal): Promise<AsyncIterable<string>>;
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';
type Query = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Sent {
  readonly query?: Query | undefined;
  readonly body?: unknown;
}

const DEFAULT_CONFIG = 'coldiron.yaml';
const DEFAULT_STATE = 'state';

export async function stateFolder(options: Pick<ConnectionOptions, 'config' | 'state'>): Promise<string> {
  if (options.state !== undefined) return resolve(options.state);
  const file = options.config ?? (existsSync(DEFAULT_CONFIG) ? DEFAULT_CONFIG : undefined);
  return file === undefined ? resolve(DEFAULT_STATE) : stateNamedBy(file);
}

/** A verb needs only this key of the site file; checking the whole file takes longer than most verbs. */
async function stateNamedBy(file: string): Promise<string> {
  const document = await readDocument(file);
  const { state = DEFAULT_STATE } = document.ok ? document.value : { state: null };
  if (typeof state === 'string' && state !== '') return resolve(dirname(file), state);
  const { loadConfig } = await import('../config.ts');
  return (await loadConfig(file)).state;
}

export async function connect(options: ConnectionOptions): Promise<Connection> {
  const server = options.server ?? serverFromEnvironment(options);
  if (server === undefined) {
    return connectionTo({
      socketPath: join(await stateFolder(options), 'coldiron.sock'),
      origin: 'http://coldiron',
      headers: {},
      ca: null,
    });
  }
  if (!/^https?:\/\//.test(server)) {
    const from = options.server === undefined ? 'COLDIRON_SERVER' : '--server';
    throw new ColdironError('usage', `${from} takes a URL like https://host:8443, not ${server}`);
  }
  const headers = { authorization: `Bearer ${token(options)}` };
  return connectionTo({ socketPath: null, origin: server, headers, ca: readCa(options.caFile) });
}

/** A state folder or site file on the command line selects the appliance on this machine. */
const serverFromEnvironment = ({ state, config }: ConnectionOptions): string | undefined =>
  state === undefined && config === undefined ? process.env.COLDIRON_SERVER || undefined : undefined;

function readCa(file: string | undefined): string | null {
  if (file === undefined) return null;
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new ColdironError('usage', `cannot read the certificate file ${file}: ${(error as Error).message}`);
  }
}

interface Appliance {
  readonly socketPath: string | null;
  readonly origin: string;
  readonly headers: Readonly<Record<string, string>>;
  /** PEM of the CA that verifies its certificate; null: the CAs of the system. */
  readonly ca: string | null;
}

const connectionTo = (appliance: Appliance): Connection => ({
  call: (method, path, sent) => call(appliance, method, path, sent),
  upgrade: (path, query, protocol) => upgrade(appliance, urlOf(appliance, path, query), protocol),
  post: (path, body, headers, signal) => post(appliance, urlOf(appliance, path), { body, headers, signal }),
  stream: (path, query, signal) => openStream(appliance, urlOf(appliance, path, query), signal),
});

function token(options: ConnectionOptions): string {
  if (options.tokenFile !== undefined) {
    try {
      return readFileSync(options.tokenFile, 'utf8').trim();
    } catch (error) {
      throw new ColdironError('usage', `cannot read the token file ${options.tokenFile}: ${(error as Error).message}`);
    }
  }
  const fromEnvironment = process.env.COLDIRON_TOKEN;
  if (fromEnvironment) return fromEnvironment.trim();
  throw new ColdironError('unauthenticated', '--server needs a token: give --token-file, or set COLDIRON_TOKEN');
}

/** Long enough to apply the largest inventory; a refused connection fails at once. */
const ANSWER_TIMEOUT_MS = 120_000;
const CONNECT_TIMEOUT_MS = 10_000;

function urlOf({ origin }: Appliance, path: string, query: Query = {}): URL {
  const url = new URL(path, origin);
  for (const [key, value] of Object.entries(query)) {
    for (const each of value === undefined ? [] : [value].flat()) url.searchParams.append(key, each);
  }
  return url;
}

async function call<T>(appliance: Appliance, method: Method, path: string, { query, body }: Sent): Promise<T> {
  const request = await requestTo(appliance, urlOf(appliance, path, query), { method, agent: false });
  // An early answer closes the connection while the body is still being sent; that error is ignored.
  request.on('error', () => undefined);
  const late = Object.assign(new Error('no answer before the timeout'), { code: 'ETIMEDOUT' });
  const tooSlow = (): void => void request.destroy(late);
  const connecting = setTimeout(tooSlow, CONNECT_TIMEOUT_MS);
  request.once('socket', (socket) => socket.once('connect', () => clearTimeout(connecting)));
  request.setTimeout(ANSWER_TIMEOUT_MS, tooSlow);
  if (body === undefined) request.end();
  else {
    const sent = Buffer.from(JSON.stringify(body));
    request.setHeader('content-type', 'application/json').setHeader('content-length', sent.length).end(sent);
  }
  try {
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    const content = await text(answer);
    const status = answer.statusCode ?? 0;
    if (status >= 400) throw refusal(status, content);
    return JSON.parse(content) as T;
  } catch (error) {
    throw error instanceof ColdironError ? error : unreachable(error as NodeJS.ErrnoException, placeOf(appliance));
  } finally {
    clearTimeout(connecting);
  }
}

async function requestTo(
  { socketPath, headers, ca }: Appliance,
  url: URL,
  options: http.RequestOptions & { headers?: Readonly<Record<string, string>> },
): Promise<http.ClientRequest> {
  // Loading TLS takes as long as the rest of a small verb.
  const { request } = url.protocol === 'https:' ? await import('node:https') : http;
  return request(url, {
    ...(socketPath !== null && { socketPath }),
    ...(ca !== null && { ca }),
    ...options,
    headers: { ...headers, ...options.headers },
  });
}

const placeOf = ({ socketPath, origin }: Appliance): string => socketPath ?? origin;

async function upgrade(appliance: Appliance, url: URL, protocol: string): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  const request = await requestTo(appliance, url, { headers: { connection: 'Upgrade', upgrade: protocol } });
  request.on('upgrade', (_answer, stream, head) => {
    if (head.length > 0) stream.unshift(head);
    resolve(stream);
  });
  request.on('response', (answer) => {
    text(answer).then((body) => reject(refusal(answer.statusCode ?? 0, body)), reject);
  });
  request.on('error', (error) => reject(unreachable(error, placeOf(appliance))));
  request.end();
  return promise;
}

async function post(
  appliance: Appliance,
  url: URL,
  { body, headers, signal }: { body: string; headers: Readonly<Record<string, string>>; signal: AbortSignal },
): Promise<http.IncomingMessage> {
  const json = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) };
  const request = await requestTo(appliance, url, { method: 'POST', signal, headers: { ...json, ...headers } });
  request.end(body);
  try {
    const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
    return answer;
  } catch (error) {
    throw unreachable(error as NodeJS.ErrnoException, placeOf(appliance));
  }
}

/** Three heartbeats of the appliance. */
const SILENCE_MS = 45_000;

async function openStream(appliance: Appliance, url: URL, signal: AbortSignal): Promise<AsyncIterable<string>> {
  const request = await requestTo(appliance, url, { agent: false, signal, headers: { accept: 'text/event-stream' } });
  const silent = Object.assign(new Error('nothing was heard any more'), { code: 'ETIMEDOUT' });
  request.setTimeout(SILENCE_MS, () => void request.destroy(silent));
  request.end();
  const failed = (error: unknown): ColdironError => unreachable(error as NodeJS.ErrnoException, placeOf(appliance));
  let answer: http.IncomingMessage;
  try {
    [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  } catch (error) {
    throw failed(error);
  }
  const status = answer.statusCode ?? 0;
  if (status >= 400) throw refusal(status, await text(answer));
  answer.setEncoding('utf8');
  return (async function* () {
    try {
      yield* answer as AsyncIterable<string>;
    } catch (error) {
      throw failed(error);
    }
  })();
}

function refusal(status: number, body: string): ColdironError {
  try {
    const { code, message, details, hint, correlation_id } = JSON.parse(body);
    if (code in ERRORS) {
      const lines: string[] = [...(details ?? [])];
      if (status >= 500) lines.push(`correlation id: ${correlation_id}`);
      return new ColdironError(code as ErrorCode, message, lines, hint);
    }
  } catch {
    // Not our error envelope: another server answered on that address.
  }
  return new ColdironError(
    'service_unavailable',
    `the server answered ${status} without Coldiron's error format; check the URL`,
  );
}

/** OpenSSL's reasons to reject a certificate (X509_verify_cert_error_string(3)), by the names that Node gives them. */
const CERTIFICATE_REJECTED =
  /^(?:ERR_TLS_CERT_ALTNAME_INVALID|(?:DEPTH_ZERO_)?SELF_SIGNED_CERT|CERT_|UNABLE_TO_|INVALID_(?:CA|PURPOSE)|HOSTNAME_MISMATCH)/;

/** The host of the appliance was not reached. */
const HOST_UNREACHABLE: ReadonlySet<string> = new Set([
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
]);

function unreachable(error: NodeJS.ErrnoException, where: string): ColdironError {
  if (CERTIFICATE_REJECTED.test(error.code ?? '')) {
    return new ColdironError('server_untrusted', `the certificate of ${where} is not trusted: ${error.message}`);
  }
  switch (error.code) {
    case 'EPROTO':
      return new ColdironError(
        'unreachable',
        `${where} does not answer with TLS`,
        [],
        'Name the management port of the appliance; if the site file sets no TLS, its URL begins with http://.',
      );
    case 'ENOENT':
    case 'ECONNREFUSED':
      return new ColdironError('not_running', `no appliance is running at ${where}`);
    case 'EACCES':
      return new ColdironError(
        'forbidden',
        `this user may not use ${where}; it belongs to the user who started the appliance`,
      );
    default:
      return new ColdironError(
        HOST_UNREACHABLE.has(error.code ?? '') ? 'unreachable' : 'not_running',
        `cannot reach the appliance at ${where}: ${error.message}`,
      );
  }
}
