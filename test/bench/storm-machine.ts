// One machine of the boot storm, from its first DISCOVER to its own boot script.

import { get } from 'node:http';
import type { DhcpMessage } from '../../appliance/codecs/dhcp4/message.ts';
import { OPTION } from '../../appliance/codecs/dhcp4/options.ts';

const ETHERNET = 1;
/** The timeout of iPXE in our entry script. */
const SCRIPT_WITHIN_MS = 20_000;
const ATTEMPTS = 4;

export class StormMachine {
  readonly mac: string;
  readonly uuid: string;

  constructor(mac: string, uuid: string) {
    this.mac = mac;
    this.uuid = uuid;
  }

  /** A captured message, rewritten for this machine. */
  asItself(message: DhcpMessage): DhcpMessage {
    const mac = Buffer.from(this.mac.replaceAll(':', ''), 'hex');
    const chaddr = new Uint8Array(16);
    chaddr.set(mac);
    const options = new Map(message.options).set(OPTION.chassisUuid, option97(this.uuid));
    if (options.has(OPTION.clientIdentifier)) options.set(OPTION.clientIdentifier, Uint8Array.of(ETHERNET, ...mac));
    return { ...message, chaddr, options };
  }

  /** The query that the entry script builds from iPXE's settings. */
  scriptUrl(entry: string): string {
    const query = new URLSearchParams({
      uuid: this.uuid,
      serial: `SN${this.mac.replaceAll(':', '')}`,
      asset: '',
      manufacturer: 'QEMU',
      product: 'Standard PC (Q35 + ICH9, 2009)',
      buildarch: 'x86_64',
      platform: 'efi',
      version: '1.0.0+',
    });
    return new URL(`${this.mac.replaceAll(':', '-')}.ipxe?${query}`, entry).href;
  }
}

/** RFC 4578 §2.3: the first three fields are little-endian on the wire. */
function option97(uuid: string): Uint8Array {
  const bytes = Buffer.from(uuid.replaceAll('-', ''), 'hex');
  bytes.subarray(0, 4).reverse();
  bytes.subarray(4, 6).reverse();
  bytes.subarray(6, 8).reverse();
  return Uint8Array.of(0, ...bytes);
}

/** Fetches a script over a new connection, from the machine's own address; retries as iPXE would. */
export async function fetchScript(
  from: string,
  url: string,
): Promise<{ readonly text: string; readonly resent: number }> {
  for (let attempt = 1; ; attempt++) {
    try {
      return { text: await getText(from, url), resent: attempt - 1 };
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

function getText(from: string, url: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = { 'User-Agent': 'iPXE/1.0.0+' };
    const request = get(url, { localAddress: from, agent: false, headers, timeout: SCRIPT_WITHIN_MS }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode === 200 && text.startsWith('#!ipxe')) resolve(text);
        else reject(new Error(`${url}: ${response.statusCode}: ${text.slice(0, 200)}`));
      });
    });
    request.on('timeout', () => request.destroy(new Error(`${url}: nothing for ${SCRIPT_WITHIN_MS} ms`)));
    request.on('error', reject);
  });
}
