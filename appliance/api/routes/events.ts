import { Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNodeEverKnown } from '../find-node.ts';
import { nullable, PageSize, refTo } from '../schemas/shared.ts';
import { Event, eventView } from '../schemas/trail.ts';

const EventFilter = Type.Object(
  {
    node: Type.Optional(Type.String({ description: 'Id, host name or MAC address' })),
    kind: Type.Optional(Type.String({ description: 'A kind and everything below it: `lifecycle`' })),
    after: Type.Optional(Type.Integer({ minimum: 0, description: '`next` of the page before' })),
    limit: PageSize(100, 1000),
    newest: Type.Optional(Type.Boolean({ description: 'The last ones, still in order' })),
  },
  { additionalProperties: false },
);

export function eventRoutes(app: App, deps: ManagementDeps): void {
  app.get(
    '/events',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'What happened, the oldest first',
        tags: ['trail'],
        querystring: EventFilter,
        response: { 200: Type.Object({ events: Type.Array(refTo(Event)), next: nullable(Type.Integer()) }) },
      },
    },
    async ({ query: { node, limit = 100, ...rest } }) => {
      const machine = node === undefined ? {} : { machine: (await findNodeEverKnown(deps, node)).id };
      const events = await deps.store.events({ ...rest, ...machine, limit });
      return { events: events.map(eventView), next: events.at(-1)?.seq ?? null };
    },
  );
}
