// Probes an address for a Redfish service, without credentials: everyone may read the service root.

import { type RequestOptions, request } from 'node:https';
import { SECOND } from '../domain/instant.ts';

export interface RedfishPresence {
  readonly vendor: string | null;
  readonly product: string | null;
  readonly version: string;
}

const ROOT = '/redfish/v1/';
const LARGEST_ROOT = 64 * 1024;
const LONGEST_NAME = 64;
const LIMIT = 4 * SECOND;

/** Null: no reply, or no Redfish service. Never rejects. */
export const probeRedfish = async (
  address: string,
  port: number,
  signal: AbortSignal,
): Promise<RedfishPresence | null> => {
  const body = await fetchRoot({
    host: address,
    port,
    path: ROOT,
    headers: { accept: 'application/json', 'odata-version': '4.0', 'accept-encoding': 'identity' },
    agent: false,
    signal: AbortSignal.any([signal, AbortSignal.timeout(LIMIT)]),
    // BMC certificates are self-signed. The request contains no secret, and the reply is not trusted.
    rejectUnauthorized: false,
  });
  return body === null ? null : presenceOf(body);
};

function fetchRoot(options: RequestOptions): Promise<string | null> {
  return new Promise((resolve) => {
    const probe = request(options, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > LARGEST_ROOT) probe.destroy();
      });
      response.on('end', () => resolve(response.statusCode === 200 ? Buffer.concat(chunks).toString('utf8') : null));
    });
    probe.on('error', () => resolve(null));
    probe.on('close', () => resolve(null));
    probe.end();
  });
}

function presenceOf(body: string): RedfishPresence | null {
  const root = parsedObject(body);
  const version = root && displayName(root.RedfishVersion);
  if (!root || version === null) return null;
  const oem = typeof root.Oem === 'object' && root.Oem !== null ? Object.keys(root.Oem)[0] : undefined;
  return { vendor: displayName(root.Vendor) ?? displayName(oem), product: displayName(root.Product), version };
}

function parsedObject(text: string): Readonly<Record<string, unknown>> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** Untrusted text, made safe to display. */
function displayName(value: unknown): string | null {
  if (typeof value !== 'string') return null;
  const text = value.replace(/[^\x20-\x7e]/g, '').trim();
  return text === '' ? null : text.slice(0, LONGEST_NAME);
}
