// Terminals, from the node's side: one stream of lines with what is typed, one stream of bytes with what is shown, and how the shell ended.
// The node's certificate and the id of a terminal that is being opened on this node are needed; each direction can be taken once.
// Nothing else can be asked for here: these streams carry bytes, and no request of the node changes a lifecycle.

import type { FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import type { App } from '../../api/base-app.ts';
import { ColdironError } from '../../domain/errors.ts';
import { sendFields } from './answer.ts';
import type { NodeApiDeps } from './node-api-deps.ts';
import type { Peers } from './peer.ts';

const TerminalReference = Type.Object({ terminal: Type.String({ pattern: '^[0-9a-f-]{36}$' }) });
const closed = { additionalProperties: false } as const;
const EndBody = Type.Object({ status: Type.String({ pattern: '^\\d{1,3}$' }) }, closed);

type Terminals = NonNullable<ReturnType<NodeApiDeps['terminals']>>;

export function nodeTerminalRoutes(app: App, { terminals, contacts }: NodeApiDeps, peers: Peers): void {
  /** A refusal is noted: an honest agent asks only for terminals that it was told to open. */
  const use = <T>(request: FastifyRequest, work: (opened: Terminals) => T): T => {
    const opened = terminals();
    if (!opened) throw new ColdironError('service_unavailable', 'terminals are not ready yet');
    try {
      return work(opened);
    } catch (error) {
      if (error instanceof ColdironError) {
        const { spec } = peers.of(request).machine;
        const words = `a terminal was refused to ${spec.hostname}: ${error.message}`;
        contacts.refused(request.ip, request.routeOptions.url ?? '', error.code, words);
      }
      throw error;
    }
  };

  app.get(
    '/node/v1/terminals/:terminal/input',
    { config: { access: 'node' }, schema: { params: TerminalReference } },
    async (request, reply) => {
      use(request, (opened) => opened.takeInput(peers.of(request), request.params.terminal, reply.raw));
      reply.hijack();
      reply.raw.writeHead(200, { 'content-type': 'text/plain; charset=us-ascii', 'cache-control': 'no-store' });
      reply.raw.flushHeaders();
    },
  );

  // The body is a stream: no parser may wait for its end.
  app.register((scope, _options, registered) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    scope.put<{ Params: { terminal: string } }>(
      '/node/v1/terminals/:terminal/output',
      { config: { access: 'node', endless: true }, schema: { params: TerminalReference } },
      async (request, reply) => {
        await use(request, (opened) => opened.takeOutput(peers.of(request), request.params.terminal, request.raw));
        return reply.code(204).send();
      },
    );
    registered();
  });

  app.post(
    '/node/v1/terminals/:terminal/end',
    { config: { access: 'node' }, schema: { params: TerminalReference, body: EndBody } },
    async (request, reply) => {
      const { terminal } = request.params;
      use(request, (opened) => opened.reportStatus(peers.of(request), terminal, Number(request.body.status)));
      return sendFields(request, reply, { terminal, recorded: 'yes' });
    },
  );
}
