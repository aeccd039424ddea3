// One HTTPS connection to one BMC: one request, one complete reply, both bounded. It always connects to that BMC, whatever a
// reply says; another host needs another link.

import { isIPv6 } from 'node:net';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { Client, type Dispatcher, errors } from 'undici';
import { type Instant, SECOND } from '../../domain/instant.ts';
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

export interface LinkReply {
  readonly status: number;
  /** Names in lower case; the first of several values. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The size of the body, decompressed. */
  readonly bytes: number;
}

export interface RedfishLink {
  /** Rejects with a BmcError. */
  exchange(request: LinkRequest, until: Instant): Promise<LinkReply>;
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
    // The abort signal below enforces the timeout; a second timer could disagree with it.
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  let replied = false;

  const exchange = async (request: LinkRequest, until: Instant): Promise<LinkReply> => {
    const abort = new AbortController();
    const seconds = Math.max(0, until - clock.now()) / SECOND;
    const cancel = clock.wakeAt(until, () => abort.abort());
    try {
      const response = await client.request({ ...request, signal: abort.signal });
      replied = true;
      return await read(response, limits.replyBytes);
    } catch (error) {
      throw abort.signal.aborted ? noReply(replied, seconds) : failureOf(error, replied);
    } finally {
      cancel();
    }
  };

  return { exchange, close: () => client.destroy() };
};

async function read(response: Dispatcher.ResponseData, limit: number): Promise<LinkReply> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size > limit) throw tooLong(limit);
  }
  const headers = Object.fromEntries(
    Object.entries(response.headers).flatMap(([name, value]) => {
      const first = Array.isArray(value) ? value[0] : value;
      return first === undefined ? [] : [[name, first]];
    }),
  );
  const compressed = Buffer.concat(chunks);
  const body = headers['content-encoding'] === 'gzip' ? await decompress(compressed, limit) : compressed;
  return { status: response.statusCode, headers, body: body.toString('utf8'), bytes: body.length };
}

async function decompress(compressed: Uint8Array, limit: number): Promise<Buffer> {
  try {
    return await promisify(gunzip)(compressed, { maxOutputLength: limit });
  } catch (error) {
    if (codeOf(error) === 'ERR_BUFFER_TOO_LARGE') throw tooLong(limit);
    throw new BmcError('malformed', 'the reply of the BMC is not valid gzip');
  }
}

const tooLong = (limit: number): BmcError =>
  new BmcError('malformed', `the reply of the BMC is larger than the limit of ${limit} bytes`);

const noReply = (replied: boolean, seconds: number): BmcError =>
  replied
    ? new BmcError('vanished', `the BMC stopped replying: no complete reply within ${Math.round(seconds * 10) / 10} s`)
    : new BmcError('unreachable', 'no reply; check the address, and that Redfish (HTTPS) is enabled');

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';

/** Node's codes for a rejected certificate (tls, "X509 certificate error codes"), and OpenSSL's for a failed handshake. */
const UNTRUSTED =
  /^(CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|INVALID_CA|HOSTNAME_MISMATCH|ERR_TLS_CERT|ERR_SSL_|EPROTO|ERR_TLS_)/;

function failureOf(error: unknown, replied: boolean): BmcError {
  if (error instanceof BmcError) return error;
  const code = codeOf(error);
  const words = error instanceof Error ? error.message : String(error);
  if (UNTRUSTED.test(code))
    return new BmcError('untrusted', `the TLS connection to the BMC is not trusted: ${words} (${code})`);
  if (isBrokenHttp(error)) {
    return new BmcError('malformed', `the reply of the BMC is not valid HTTP: ${words}`);
  }
  return new BmcError(replied ? 'vanished' : 'unreachable', `the connection to the BMC failed: ${words || code}`);
}

const isBrokenHttp = (error: unknown): boolean =>
  error instanceof errors.HTTPParserError ||
  error instanceof errors.HeadersOverflowError ||
  error instanceof errors.ResponseContentLengthMismatchError ||
  error instanceof errors.InvalidArgumentError ||
  codeOf(error).startsWith('HPE_');
