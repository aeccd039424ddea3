// How messages reach a receiver of each kind. A delivery knows nothing about cursors and retries.

import type { Instant } from '../domain/instant.ts';
import { HttpPoster } from './http-post.ts';
import { lokiPush } from './loki-push.ts';
import { type Delivery, type Failure, failureOf, unavailable } from './outcome.ts';
import { readSecretFile, readSecretLine } from './secret-file.ts';
import type { LokiSettings, ReceiverSettings, WebhookSettings } from './settings.ts';
import { syslogDelivery } from './syslog-delivery.ts';
import { parseWebhookSecrets, webhookRequest } from './webhook-signature.ts';

export interface DeliveryDeps {
  readonly now: () => Instant;
  /** The host that the appliance runs on. */
  readonly host: string;
}

export function deliveryTo({ target }: ReceiverSettings, deps: DeliveryDeps): Delivery {
  switch (target.kind) {
    case 'webhook':
      return webhookDelivery(target, deps);
    case 'loki':
      return lokiDelivery(target);
    case 'syslog':
      return syslogDelivery(target, deps.host);
  }
}

function webhookDelivery({ url, secretFile, ca }: WebhookSettings, { now }: DeliveryDeps): Delivery {
  const poster = new HttpPoster(url, ca);
  return {
    mostAtOnce: 50,
    wholeBatch: false,
    async deliver(messages, signal) {
      const text = await readSecretFile(secretFile);
      const secrets = text.ok ? parseWebhookSecrets(text.value) : text;
      if (!secrets.ok) return { accepted: 0, failure: unavailable(`its secret cannot be used: ${secrets.reason}`) };
      for (const [accepted, message] of messages.entries()) {
        const failure = await posted(poster, webhookRequest(message, secrets.value, now()), signal);
        if (failure) return { accepted, failure };
      }
      return { accepted: messages.length, failure: null };
    },
    close: () => poster.close(),
  };
}

function lokiDelivery({ url, ca, tenant, login, streamLabels }: LokiSettings): Delivery {
  const poster = new HttpPoster(new URL('loki/api/v1/push', withSlash(url)), ca);
  return {
    mostAtOnce: 200,
    wholeBatch: true,
    async deliver(messages, signal) {
      const secret = login === null ? null : await readSecretLine(login.file);
      if (secret && !secret.ok)
        return { accepted: 0, failure: unavailable(`its password cannot be used: ${secret.reason}`) };
      const authorization =
        login === null || secret === null ? {} : { authorization: authorizationOf(login.username, secret.value) };
      const headers = {
        'content-type': 'application/json',
        ...(tenant !== null && { 'x-scope-orgid': tenant }),
        ...authorization,
      };
      const failure = await posted(poster, { headers, body: JSON.stringify(lokiPush(messages, streamLabels)) }, signal);
      return { accepted: failure === null ? messages.length : 0, failure };
    },
    close: () => poster.close(),
  };
}

/** RFC 7617, RFC 6750. */
const authorizationOf = (username: string | null, secret: string): string =>
  username === null ? `Bearer ${secret}` : `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`;

/** A URL below a folder, as behind a gateway, keeps it. */
const withSlash = (url: URL): string => (url.href.endsWith('/') ? url.href : `${url.href}/`);

async function posted(
  poster: HttpPoster,
  request: { readonly headers: Readonly<Record<string, string>>; readonly body: string },
  signal: AbortSignal,
): Promise<Failure | null> {
  try {
    return failureOf(await poster.post(request, signal));
  } catch (error) {
    return unavailable((error as Error).message || (error as NodeJS.ErrnoException).code || 'the connection failed');
  }
}
