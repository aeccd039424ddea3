// What agents call about themselves: health, signed settings, the agent of this appliance, and their logs. Task waits under the path that
// runbooks of other systems use.

import { Type } from 'typebox';
import type { App } from '../../api/base-app.ts';
import { ColdironError } from '../../domain/errors.ts';
import { SECOND } from '../../domain/instant.ts';
import { sendFields } from './answer.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import type { Peers } from './peer.ts';

const KIBIBYTE = 1024;
const closed = { additionalProperties: false } as const;
const LogBody = Type.Object(
  {
    stream: Type.String({ pattern: '^[0-9a-f]{1,32}$' }),
    /** curl leaves out the field of an empty file. */
    lines: Type.Optional(Type.String({ maxLength: 128 * KIBIBYTE })),
  },
  closed,
);

/** Public: a client verifies with it that the URL is right and that it trusts our authority, before it has a certificate. */
const HEALTH_PATHS = ['/node/v1/health', '/health', '/api/v1/healthz'] as const;

export function nodeAgentRoutes(app: App, { enrollment, now }: NodeApiDeps, peers: Peers): void {
  const { agents, authority } = enrollment;

  for (const path of HEALTH_PATHS) {
    app.get(path, { config: { access: 'public' } }, (request, reply) =>
      sendFields(request, reply, { status: 'ok', service: 'node-api', time: Math.floor(now() / SECOND) }),
    );
  }

  app.get('/node/v1/settings', { config: { access: 'node' } }, async (request, reply) => {
    const { machine } = peers.of(request);
    const settings = await agents.settingsFor(machine);
    if (settings === null) throw new ColdironError('service_unavailable', 'no address of the node API is known');
    const { signed, caPem } = settings;
    return sendFields(request, reply, {
      node_id: machine.id,
      payload: signed.payload,
      signature: signed.signature,
      key_id: signed.keyId,
      ca_pem: caPem,
      ca_fingerprint: (await authority.trust()).shown,
    });
  });

  app.get('/node/v1/agent', { config: { access: 'node' } }, (_request, reply) =>
    reply.type('text/plain; charset=utf-8').send(agents.text),
  );

  app.post(
    '/node/v1/logs',
    // Form encoding may need three bytes for each byte.
    { config: { access: 'node' }, bodyLimit: 400 * KIBIBYTE, schema: { body: LogBody } },
    async (request, reply) => {
      const { machine } = peers.of(request);
      const { stream, lines = '' } = request.body;
      const stored = await agents.log(machine, stream, lines, request.id);
      return sendFields(request, reply, { node_id: machine.id, stored });
    },
  );
}
