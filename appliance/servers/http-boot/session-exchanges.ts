// The session API of the service OS over HTTP: JSON in, JSON out, the key only in the Authorization header.

import { ColdironError } from '../../domain/errors.ts';
import type { Json } from '../../domain/event.ts';
import { shown } from '../../domain/parsed.ts';
import { parseSessionSecret, type SessionSecret } from '../../domain/session.ts';
import { RateLimit } from '../../net/rate-limit.ts';
import type { SessionCall } from '../../provisioning/sessions/session-opener.ts';
import type { Sessions } from '../../provisioning/sessions/sessions.ts';
import type { SessionRoute } from './boot-route.ts';
import { type BootExchange, sendBootError } from './exchange.ts';

const KIBIBYTE = 1024;
/** Facts of a machine with hundreds of disks fit; the sender cuts a log to its last part. */
const LARGEST_BODY = { open: 48 * KIBIBYTE, facts: 512 * KIBIBYTE, steps: 64 * KIBIBYTE, outcome: 16 * KIBIBYTE };

/** Per address, and above that per session. A machine that reports every second stays far below, also at its start. */
const PER_SECOND = 100;
/** Bounds the memory of the limits. */
const MOST_SOURCES = 10_000;

interface SessionVerb {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly run: (exchange: BootExchange, call: SessionCall) => Promise<void>;
}

export class SessionExchanges {
  readonly #sessions: Sessions;
  readonly #milliseconds: () => number;
  readonly #limits = new Map<string, RateLimit>();

  constructor(sessions: Sessions, milliseconds: () => number = () => performance.now()) {
    this.#sessions = sessions;
    this.#milliseconds = milliseconds;
  }

  /** Returns fields for the log line: never a ticket, never a key. */
  async answer(exchange: BootExchange, route: SessionRoute): Promise<object> {
    const verb = this.#verbOf(route);
    if (exchange.request.method !== verb.method) {
      const error = new ColdironError('invalid_request', `the method must be ${verb.method}`);
      sendBootError(exchange, error, { status: 405, headers: { Allow: verb.method, Connection: 'close' } });
      return { session: route.what };
    }
    if (!(await this.#admits(exchange, route))) {
      const error = new ColdironError('rate_limited', 'too many requests from one address');
      sendBootError(exchange, error, { headers: { 'Retry-After': 1, Connection: 'close' } });
      return { session: route.what };
    }
    try {
      await verb.run(exchange, { address: exchange.address, correlationId: exchange.correlationId });
      return { session: route.what };
    } catch (error) {
      if (!(error instanceof ColdironError) || error.code === 'store_unavailable') throw error;
      sendBootError(exchange, error, { headers: refusalHeaders(error) });
      return { session: route.what, why: error.message };
    }
  }

  #verbOf(route: SessionRoute): SessionVerb {
    const sessions = this.#sessions;
    switch (route.what) {
      case 'open':
        return {
          method: 'POST',
          run: async (exchange, call) => {
            const body = await readJson(exchange, LARGEST_BODY.open);
            sendJson(exchange, 201, await sessions.open(route.ticket, body, call));
          },
        };
      case 'order':
        return {
          method: 'GET',
          run: async (exchange) => sendJson(exchange, 200, await sessions.order(keyOf(exchange))),
        };
      case 'facts':
        return {
          method: 'PUT',
          run: async (exchange, call) => {
            await sessions.facts(keyOf(exchange), await readJson(exchange, LARGEST_BODY.facts), call);
            sendNothing(exchange);
          },
        };
      case 'steps':
        return {
          method: 'POST',
          run: async (exchange, call) => {
            await sessions.step(keyOf(exchange), await readJson(exchange, LARGEST_BODY.steps), call);
            sendNothing(exchange);
          },
        };
      case 'outcome':
        return {
          method: 'POST',
          run: async (exchange) => {
            const body = await readJson(exchange, LARGEST_BODY.outcome);
            sendJson(exchange, 200, { ...(await sessions.outcome(keyOf(exchange), body)) });
          },
        };
      case 'file':
        return {
          method: 'GET',
          run: async (exchange, call) => {
            const file = await sessions.file(keyOf(exchange), route.name, call);
            if (file === null) throw new ColdironError('not_found', `the order has no file ${shown(route.name)}`);
            send(exchange, 200, file.type, file.bytes);
          },
        };
    }
  }

  /** Machines can share an address: above its limit, the holder of a valid ticket or key has a limit of its own. */
  async #admits(exchange: BootExchange, route: SessionRoute): Promise<boolean> {
    if (this.#allows(exchange.address ?? 'elsewhere')) return true;
    const secret = route.what === 'open' ? { ticket: route.ticket } : { key: presentedKey(exchange) };
    const session = await this.#sessions.unended(secret);
    return session !== null && this.#allows(session);
  }

  #allows(source: string): boolean {
    let limit = this.#limits.get(source);
    if (!limit) {
      if (this.#limits.size >= MOST_SOURCES) this.#limits.clear();
      limit = new RateLimit(PER_SECOND);
      this.#limits.set(source, limit);
    }
    return limit.allows(this.#milliseconds());
  }
}

function keyOf(exchange: BootExchange): SessionSecret {
  const key = presentedKey(exchange);
  if (key === null) throw new ColdironError('unauthenticated', 'send the session key as Authorization: Bearer …');
  return key;
}

function presentedKey({ request }: BootExchange): SessionSecret | null {
  const key = parseSessionSecret(/^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '');
  return key.ok ? key.value : null;
}

/** A connection with an unread body cannot be reused. */
const refusalHeaders = ({ code }: ColdironError) => ({
  ...(code === 'unauthenticated' ? { 'WWW-Authenticate': 'Bearer' } : {}),
  Connection: 'close',
});

async function readJson(exchange: BootExchange, most: number): Promise<unknown> {
  const body = await readBody(exchange, most);
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new ColdironError('invalid_request', 'the body is not JSON');
  }
}

async function readBody({ request }: BootExchange, most: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw new ColdironError('payload_too_large', `the body is longer than ${most} bytes`);
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof ColdironError) throw error;
    // Any client can do that: it is no failure of ours.
    throw new ColdironError('invalid_request', 'the connection was closed before the end of the body');
  }
  return Buffer.concat(chunks);
}

const sendJson = (exchange: BootExchange, status: number, value: Json): void =>
  send(exchange, status, 'application/json; charset=utf-8', Buffer.from(JSON.stringify(value)));

function send({ response }: BootExchange, status: number, type: string, body: Buffer): void {
  response.writeHead(status, { 'Content-Type': type, 'Content-Length': body.length, 'Cache-Control': 'no-store' });
  response.end(body);
}

function sendNothing({ response }: BootExchange): void {
  response.writeHead(204);
  response.end();
}
