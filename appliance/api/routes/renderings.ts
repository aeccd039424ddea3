import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { ColdironError } from '../../domain/errors.ts';
import type { Site } from '../../domain/network.ts';
import { shown } from '../../domain/parsed.ts';
import type { SkippedNode } from '../../render/site-folder.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { NodeReference } from '../schemas/node.ts';
import {
  differenceView,
  fileView,
  Rendering,
  RenderingDifference,
  renderingView,
  SiteRendering,
  TemplateState,
} from '../schemas/rendering.ts';

const SiteReference = Type.Object({ site: Type.String() }, { additionalProperties: false });

export function renderingRoutes(app: App, deps: ManagementDeps): void {
  const { renderings } = deps;

  app.get(
    '/nodes/:node/rendering',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Everything that the node would be given, without secrets',
        tags: ['renderings'],
        params: NodeReference,
        response: { 200: Rendering },
      },
    },
    async ({ params }) => renderingView(await renderings.preview(await findNode(deps, params.node)), false),
  );

  app.post(
    '/nodes/:node/rendering',
    {
      // It makes a key, and hands it over.
      config: { access: 'admin' },
      schema: {
        summary: 'Make everything that somebody needs who installs the node, secrets included; remembered and audited',
        tags: ['renderings'],
        params: NodeReference,
        response: { 200: Rendering },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      return renderingView(await renderings.issueFolder(machine, originOf(request)), true);
    },
  );

  app.get(
    '/nodes/:node/rendering/difference',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'What the node would be given now, against what it was last given',
        tags: ['renderings'],
        params: NodeReference,
        response: { 200: RenderingDifference },
      },
    },
    async ({ params }) => {
      const machine = await findNode(deps, params.node);
      return differenceView(machine.spec.hostname, await renderings.changes(machine));
    },
  );

  app.get(
    '/templates',
    {
      config: { access: 'viewer' },
      schema: {
        summary: "Whether the operator's own templates are in force, and what is wrong with them if not",
        tags: ['renderings'],
        response: { 200: TemplateState },
      },
    },
    async () => {
      const { overridden, problems } = await renderings.templates();
      return { overridden, problems: [...problems] };
    },
  );

  app.get(
    '/sites/:site/rendering',
    {
      config: { access: 'operator' },
      schema: {
        summary:
          'A whole site as one folder: the flake of its nodes, DNS, firewalls, and lists for other tools. No secrets.',
        tags: ['renderings'],
        params: SiteReference,
        response: { 200: SiteRendering },
      },
    },
    async ({ params }, reply) => {
      const site = [...deps.fleet.sites()].find(({ name }) => name === params.site);
      if (!site) throw new ColdironError('not_found', `there is no site ${shown(params.site)}`);
      const text = Readable.from(siteDocument(deps, site));
      return reply.type('application/json').send(text as never);
    },
  );
}

/** Written while it is made: ten thousand nodes are never in memory at once. */
async function* siteDocument({ renderings }: ManagementDeps, site: Site): AsyncGenerator<string> {
  const leftOut: SkippedNode[] = [];
  const head = { site: site.name, inventory_revision: renderings.index().declaredRevision };
  yield `${JSON.stringify(head).slice(0, -1)},"files":[`;
  let separator = '';
  for await (const files of renderings.site(site, (left) => leftOut.push(left))) {
    const texts = files.map((file) => JSON.stringify(fileView(file, false)));
    if (texts.length === 0) continue;
    yield separator + texts.join(',');
    separator = ',';
  }
  yield `],"left_out":${JSON.stringify(leftOut)}}`;
}
