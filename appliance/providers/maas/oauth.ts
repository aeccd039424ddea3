// The OAuth 1.0 header of a request to MAAS (RFC 5849): PLAINTEXT, with an empty consumer secret. URL and body are not signed.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import { Secret } from '../../domain/secret.ts';

export interface MaasKey {
  readonly consumer: string;
  readonly token: string;
  readonly secret: Secret;
}

/** `where`: for the reason, which never contains the text. */
export function parseMaasKey(text: string, where: string): Parsed<MaasKey> {
  const [consumer, token, secret, ...more] = text.split(':');
  const isKey = [consumer, token, secret].every((part) => /^[\x21-\x7e]{1,256}$/.test(part ?? ''));
  return isKey && more.length === 0
    ? parsed({ consumer: consumer ?? '', token: token ?? '', secret: new Secret(secret ?? '') })
    : unparsable(`${where} does not contain an API key of MAAS: consumer:token:secret, in one line`);
}

/** The nonce must be new for each request, also for a repeated one; MAAS refuses a timestamp that is 300 s old. */
export function authorization({ consumer, token, secret }: MaasKey, nonce: string, unixSeconds: number): string {
  const fields = {
    oauth_version: '1.0',
    oauth_signature_method: 'PLAINTEXT',
    oauth_consumer_key: consumer,
    oauth_token: token,
    oauth_signature: `&${new TextDecoder().decode(secret.reveal())}`,
    oauth_nonce: nonce,
    oauth_timestamp: String(unixSeconds),
  };
  const listed = Object.entries(fields).map(([name, value]) => `${name}="${encoded(value)}"`);
  return `OAuth ${listed.join(', ')}`;
}

/** RFC 3986: encodeURIComponent leaves five characters that must be encoded, too. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (one) => `%${one.charCodeAt(0).toString(16).toUpperCase()}`);
