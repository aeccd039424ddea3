// One HTTPS connection to one BMC: a request out, a whole answer in, both with an end. It goes to that BMC whatever an answer
// says; whoever is to be spoken to elsewhere needs another link.

import { isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Client, type Dispatcher, errors } from 'undici';
import type { Instant } from '../../domain/instant.ts';
import { BmcError } from '../bmc-error.ts';
import type { BmcClock } from '../clock.ts';
import { type Trust, trustingConnector } from './certificate-pin.ts';
import type { RedfishLimits } from './limits.ts';

export interface LinkRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export interface LinkAnswer {
  readonly status: number;
  /** Names in lower case; of several with one name the first. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface RedfishLink {
  /** Rejects with a BmcError. */
  exchange(request: LinkRequest, until: Instant): Promise<LinkAnswer>;
  close(): Promise<void>;
}

export interface LinkSettings {
  readonly origin: string;
  readonly trust: Trust;
  readonly clock: BmcClock;
  readonly limits: RedfishLimits;
}

export type OpenLink = (settings: LinkSettings) => RedfishLink;

export const originOf = (address: string, port: number): string =>
  new URL(`https://${isIPv6(address) ? `[${address}]` : address}:${port}`).origin;

export const openHttpsLink: OpenLink = (settings) => {
  const { origin, trust, clock, limits } = settings;
  const client = new Client(origin, {
    connect: trustingConnector(trust, limits.connect),
    // The clock below ends an exchange; two clocks would only disagree.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let heard = false;

  const exchange = async (request: LinkRequest, until: Instant): Promise<LinkAnswer> => {
    const abort = new AbortController();
    const cancel = clock.wakeAt(until, () => abort.abort());
    try {
      const answer = await client.request({ ...request, signal: abort.signal });
      heard = true;
      return await read(answer, limits.answerBytes);
    } catch (error) {
      throw abort.signal.aborted ? silence(heard) : troubleOf(error, heard);
    } finally {
      cancel();
    }
  };

  return { exchange, close: () => client.destroy() };
};

async function read(answer: Dispatcher.ResponseData, limit: number): Promise<LinkAnswer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) throw tooLong(limit);
  }
  const headers = Object.fromEntries(
    Object.entries(answer.headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value;
      return first === undefined ? [] : [[name, first]];
    }),
  );
  const packed = Buffer.concat(chunks);
  const body = headers['content-encoding'] === 'gzip' ? await unpack(packed, limit) : packed;
  return { status: answer.statusCode, headers, body: body.toString('utf8') };
}

async function unpack(packed: Uint8Array, limit: number): Promise<Buffer> {
  try {
    return await promisify(gunzip)(packed, { maxOutputLength: limit });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLong(limit);
    throw new BmcError('malformed', 'the answer of the BMC says it is gzip, and is not');
  }
}

const tooLong = (limit: number): BmcError =>
  new BmcError('malformed', `the answer of the BMC has no end within ${limit} bytes`);

const silence = (heard: boolean): BmcError =>
  heard
    ? new BmcError('vanished', 'the BMC stopped answering')
    : new BmcError('unreachable', 'no answer; is the address right, and Redfish (HTTPS) switched on?');

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Node's reasons for not believing a certificate (tls, "X509 certificate error codes"), and OpenSSL's for no handshake. */
const UNTRUSTED =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_CA|HOSTNAME_MISMATCH|ERR_TLS_CERT|ERR_SSL_|EPROTO|ERR_TLS_)/;

function troubleOf(error: unknown, heard: boolean): BmcError {
  if (error instanceof BmcError) return error;
  const code = codeOf(error);
  const words = error instanceof Error ? error.message : String(error);
  if (UNTRUSTED.test(code)) return new BmcError('untrusted', `no trustworthy TLS with the BMC: ${words} (${code})`);
  if (isBrokenHttp(error)) {
    return new BmcError('malformed', `what the BMC sends is not HTTP: ${words}`);
  }
  return new BmcError(heard ? 'vanished' : 'unreachable', `no way to the BMC: ${words || code}`);
}

const isBrokenHttp = (error: unknown): boolean =>
  error instanceof errors.HTTPParserError ||
  error instanceof errors.HeadersOverflowError ||
  error instanceof errors.ResponseContentLengthMismatchError ||
  error instanceof errors.InvalidArgumentError ||
  codeOf(error).startsWith('HPE_');
