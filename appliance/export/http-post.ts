// One POST to a receiver: with a time limit, without following redirects, and reading only the beginning of the answer.

import http from 'node:http';
import https from 'node:https';
import { SECOND } from '../domain/instant.ts';
import type { HttpAnswer } from './outcome.ts';

const TIME_LIMIT = 15 * SECOND;
const MOST_ANSWER_BYTES = 4096;
const IDLE_CONNECTION = 30 * SECOND;

export interface Post {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The connections to one receiver. */
export class HttpPoster {
  readonly #url: URL;
  readonly #agent: http.Agent;

  /** `ca`: PEM of the authority that signed its certificate; null: those of the system. */
  constructor(url: URL, ca: string | null) {
    this.#url = url;
    const settings = { keepAlive: true, maxSockets: 1, timeout: IDLE_CONNECTION };
    this.#agent =
      url.protocol === 'https:'
        ? new https.Agent({ ...settings, ...(ca !== null && { ca }) })
        : new http.Agent(settings);
  }

  /** Rejects when there is no answer. */
  async post({ headers, body }: Post, signal: AbortSignal): Promise<HttpAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const content = Buffer.from(body);
    const limit = AbortSignal.timeout(TIME_LIMIT);
    const { request } = this.#url.protocol === 'https:' ? https : http;
    const sent = request(this.#url, {
      method: 'POST',
      agent: this.#agent,
      headers: { 'user-agent': 'coldiron', ...headers, 'content-length': content.length },
      signal: AbortSignal.any([signal, limit]),
    });
    sent.on('error', (error) => reject(limit.aborted ? new Error(`no answer within ${TIME_LIMIT / SECOND} s`) : error));
    sent.on('response', (answer) => {
      const { statusCode: status = 0, headers: given } = answer;
      const retryAfter = given['retry-after'] ?? null;
      let text = '';
      const finish = (): void => resolve({ status, retryAfter, text: text.slice(0, MOST_ANSWER_BYTES) });
      answer.setEncoding('utf8');
      answer.on('data', (chunk: string) => {
        text += chunk;
        // The status has arrived; the rest is not worth a connection.
        if (text.length > MOST_ANSWER_BYTES) answer.destroy();
      });
      // Also after an answer that was cut off: its status counts.
      answer.on('close', finish);
      answer.on('error', finish);
    });
    sent.end(content);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}
