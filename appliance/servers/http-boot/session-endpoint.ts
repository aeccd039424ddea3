// The session API as the node API's listener serves it: over TLS, with the certificate that the service OS verifies.

import type { IncomingMessage, ServerResponse } from 'node:http';
import { ColdironError } from '../../domain/errors.ts';
import type { Sessions } from '../../provisioning/sessions/sessions.ts';
import { bootRoute } from './boot-route.ts';
import { asColdironError, exchangeOf, sendBootError } from './exchange.ts';
import { SessionExchanges } from './session-exchanges.ts';

export type SessionEndpoint = (
  request: IncomingMessage,
  response: ServerResponse,
  correlationId: string,
) => Promise<void>;

export function sessionEndpoint(
  sessions: Sessions,
  log: { error(fields: object, message: string): void },
): SessionEndpoint {
  const exchanges = new SessionExchanges(sessions);
  return async (request, response, correlationId) => {
    response.on('error', () => undefined);
    const exchange = exchangeOf(request, response, correlationId);
    const route = bootRoute(exchange.path);
    try {
      if (route.kind === 'session') await exchanges.answer(exchange, route.session);
      else sendBootError(exchange, new ColdironError('not_found', 'this is not a request of a session'));
    } catch (error) {
      const known = asColdironError(error);
      if (known !== error) log.error({ err: error, correlation_id: correlationId }, 'a session request failed');
      sendBootError(exchange, known, { headers: { Connection: 'close' } });
    }
  };
}
