// Checks that the API replies at the URL of the bundle, with a certificate that chains to the bundle's authorities. A node
// makes the same request; a wrong URL is cheaper to find before the bundle is issued.

import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { type Instant, SECOND } from '../domain/instant.ts';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';

export type ApiProbe = (url: string, caPem: string) => Promise<Parsed<null>>;

const TIMEOUT = 5 * SECOND;

/**
 * Accepts any HTTP status: the server must be reachable, have a trusted certificate, and accept clients without a
 * certificate, because a node has none before it enrolls.
 */
export const probeApi =
  (timeout: Instant = TIMEOUT): ApiProbe =>
  (url, caPem) =>
    new Promise((resolve) => {
      const options = { timeout, agent: false } as const;
      const health = `${url.replace(/\/$/, '')}/node/v1/health`;
      const request = url.startsWith('https:') ? httpsGet(health, { ...options, ca: caPem }) : httpGet(health, options);
      request.on('response', (response) => {
        response.resume();
        resolve(parsed(null));
      });
      request.on('timeout', () => request.destroy(new Error(`no reply within ${timeout / SECOND} s`)));
      request.on('error', (error) => resolve(unparsable(reasonOf(error))));
    });

/** OpenSSL's messages are addresses and line numbers; the error code is readable. */
const reasonOf = ({ code, message }: NodeJS.ErrnoException): string =>
  code?.startsWith('ERR_SSL_') ? code : message.trim();
