import { Type } from 'typebox';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import { carryConsole } from '../carry-console.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { NodeReference } from '../schemas/node.ts';
import type { Upgrades } from '../upgrade.ts';

const ConsoleQuery = Type.Object(
  { steal: Type.Optional(Type.Boolean({ description: 'End the console of whoever has it (false)' })) },
  { additionalProperties: false },
);

export function consoleRoute(app: App, deps: ManagementDeps, upgrades: Upgrades): void {
  app.get(
    '/nodes/:node/console',
    {
      config: { access: 'operator' },
      schema: {
        summary:
          'Its serial console, as a stream of bytes both ways: ask with Connection: Upgrade and Upgrade: coldiron-console',
        tags: ['bmc'],
        params: NodeReference,
        querystring: ConsoleQuery,
        response: { 101: Type.Null({ description: 'From here on, the bytes of the console' }) },
      },
    },
    async (request, reply) => {
      const takeStream = upgrades.streamOf(request, reply);
      const by = originOf(request);
      const machine = await findNode(deps, request.params.node);
      const { steal = false } = request.query;
      const opened = await deps.bmc.nodes.openConsole(machine, by, { steal });
      request.log.info({ node: machine.spec.hostname, actor: by.actor, steal }, 'console opened');
      const because = await carryConsole(opened.console, takeStream());
      await opened.closed(because);
      request.log.info({ node: machine.spec.hostname, actor: by.actor, because }, 'console closed');
      return reply;
    },
  );
}
