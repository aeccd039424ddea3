import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { parseHostname } from '../../domain/names.ts';
import { originOf } from '../access.ts';
import { applyDocuments, nodeDocuments } from '../apply-documents.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { listNodes } from '../list-nodes.ts';
import { ApplyAnswer, applyView, NodeDocument, NodeImport } from '../schemas/inventory.ts';
import { Node, NodePage, NodeReference, nodeView } from '../schemas/node.ts';
import { PageSize, refTo } from '../schemas/shared.ts';

const NodeFilter = Type.Object(
  {
    state: Type.Optional(Type.Enum([...LIFECYCLE_STATES])),
    site: Type.Optional(Type.String()),
    profile: Type.Optional(Type.String()),
    q: Type.Optional(Type.String({ description: 'Part of a host name, MAC, address, serial or UUID' })),
    after: Type.Optional(Type.String({ description: '`next` of the page before' })),
    limit: PageSize(100, 1000),
  },
  { additionalProperties: false },
);

export function nodeRoutes(app: App, deps: ManagementDeps): void {
  app.get(
    '/nodes',
    {
      config: { access: 'viewer' },
      schema: { summary: 'Nodes by host name', tags: ['nodes'], querystring: NodeFilter, response: { 200: NodePage } },
    },
    async ({ query }) => {
      const { page, total, next } = listNodes(deps.fleet.machines(), { ...query, limit: query.limit ?? 100 });
      return { nodes: page.map(nodeView), total, next };
    },
  );

  app.get(
    '/nodes/:node',
    {
      config: { access: 'viewer' },
      schema: { summary: 'One node', tags: ['nodes'], params: NodeReference, response: { 200: refTo(Node) } },
    },
    async ({ params }) => nodeView(await findNode(deps, params.node)),
  );

  app.post(
    '/nodes',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Add one node by hand; it belongs to no file',
        tags: ['nodes'],
        body: NodeDocument,
        response: { 201: refTo(Node) },
      },
    },
    async (request, reply) => {
      const { name } = request.body;
      const hostname = typeof name === 'string' ? parseHostname(name) : null;
      const there = hostname?.ok ? deps.fleet.machineByHostname(hostname.value) : null;
      if (there) {
        throw new ColdironError('conflict', `there is a node ${there.spec.hostname} already, from ${there.source}`);
      }
      const how = { mode: 'additive', dryRun: false, ...originOf(request) } as const;
      await applyDocuments(deps, nodeDocuments([request.body]), how);
      return reply.code(201).send(nodeView(await findNode(deps, String(name))));
    },
  );

  app.post(
    '/nodes/import',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Add or change many nodes, as a whole or not at all',
        tags: ['nodes'],
        body: NodeImport,
        response: { 200: ApplyAnswer },
      },
    },
    async (request) => {
      const { nodes, dry_run: dryRun = false } = request.body;
      const how = { mode: 'additive', dryRun, ...originOf(request) } as const;
      return applyView(await applyDocuments(deps, nodeDocuments(nodes), how));
    },
  );
}
