// Standard Webhooks 1.0: each message is one POST with the headers webhook-id, webhook-timestamp and webhook-signature. The signature is
// HMAC-SHA256 over `id.timestamp.body` with a shared secret. During a rotation there are several secrets and several signatures.

import { createHmac } from 'node:crypto';
import { type Instant, instantText, SECOND } from '../domain/instant.ts';
import { type Parsed, parsed, unparsable } from '../domain/parsed.ts';
import type { ExportMessage } from './message.ts';

/** Of the specification. */
const LEAST_BYTES = 24;
const MOST_BYTES = 64;
const MOST_SECRETS = 4;
const PREFIX = 'whsec_';

/** One secret per line, like `whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw`. A reason never contains any of the text. */
export function parseWebhookSecrets(text: string): Parsed<readonly Buffer[]> {
  const lines = text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
  if (lines.length === 0) return unparsable('it is empty');
  if (lines.length > MOST_SECRETS) return unparsable(`it has ${lines.length} lines: at most ${MOST_SECRETS} secrets`);
  const secrets: Buffer[] = [];
  for (const [at, line] of lines.entries()) {
    const encoded = line.startsWith(PREFIX) ? line.slice(PREFIX.length) : null;
    if (encoded === null || !/^[A-Za-z0-9+/]+={0,2}$/.test(encoded)) {
      return unparsable(`line ${at + 1} is not ${PREFIX} and base64`);
    }
    const secret = Buffer.from(encoded, 'base64');
    if (secret.length < LEAST_BYTES || secret.length > MOST_BYTES) {
      return unparsable(`line ${at + 1} has ${secret.length} bytes: ${LEAST_BYTES} to ${MOST_BYTES} are allowed`);
    }
    secrets.push(secret);
  }
  return parsed(secrets);
}

export interface WebhookRequest {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export function webhookRequest(message: ExportMessage, secrets: readonly Buffer[], now: Instant): WebhookRequest {
  const { id, at, kind, seq, severity, actor, sentence, labels, data } = message;
  const body = JSON.stringify({
    type: kind,
    timestamp: instantText(at),
    data: { id, seq, severity, message: sentence, actor, ...labels, event: data },
  });
  // The time of sending: a receiver rejects an old one, so that a recorded request cannot be sent again.
  const timestamp = String(Math.floor(now / SECOND));
  const signatures = secrets.map((secret) => {
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64');
    return `v1,${signature}`;
  });
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': signatures.join(' '),
    },
    body,
  };
}
