// Does the API answer where the bundle says, with a certificate that the bundle's authorities vouch for? A node will ask the
// same way, and a wrong address is cheaper to find before it is handed out.

import { get as httpGet } from 'node:http';
import { get as httpsGet } from 'node:https';
import { type Instant, SECOND } from '../domain/instant.ts';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';

export type ApiProbe = (url: string, caPem: string) => Promise<Parsed<null>>;

const TIMEOUT = 5 * SECOND;

/**
 * Any HTTP answer will do: what counts is that somebody is there, is who they should be, and lets in a node that has no
 * certificate yet.
 */
export const probeApi =
  (timeout: Instant = TIMEOUT): ApiProbe =>
  (url, caPem) =>
    new Promise((resolve) => {
      const options = { timeout, agent: false } as const;
      const request = url.startsWith('https:') ? httpsGet(url, { ...options, ca: caPem }) : httpGet(url, options);
      request.on('response', (response) => {
        response.resume();
        resolve(parsed(null));
      });
      request.on('timeout', () => request.destroy(new Error(`no answer within ${timeout / SECOND} s`)));
      request.on('error', (error) => resolve(unparsable(reasonOf(error))));
    });

/** OpenSSL's own words are addresses and line numbers; its code says it in one word. */
const reasonOf = ({ code, message }: NodeJS.ErrnoException): string =>
  code?.startsWith('ERR_SSL_') ? code : message.trim();
