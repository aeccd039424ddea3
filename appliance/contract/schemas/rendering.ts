// Renderings as the API shows them.

import { type Static, Type } from 'typebox';
import { nullable, Time } from './shared.ts';

export const File = Type.Object({
  path: Type.String({ description: 'Relative to the target folder' }),
  mode: Type.String({ description: 'Permission bits in octal' }),
  secret: Type.Boolean(),
  sha256: Type.String(),
  text: nullable(Type.String({ description: 'null: secret, and left out of a preview' })),
});

export const Rendering = Type.Object({
  node: Type.String(),
  fqdn: Type.String(),
  profile: Type.String(),
  kind: Type.String(),
  inventory_revision: Type.Integer({ description: 'The declared revision that it was rendered from' }),
  missing: Type.Array(Type.String(), { description: 'What is left out, and where to get it' }),
  files: Type.Array(File),
});

const Change = Type.Object({
  path: Type.String(),
  change: Type.Enum(['added', 'removed', 'changed']),
  added: Type.Integer({ description: 'Lines' }),
  removed: Type.Integer({ description: 'Lines' }),
  diff: Type.Optional(Type.String({ description: 'Unified diff; empty for secret files' })),
});

export const RenderingDifference = Type.Object({
  node: Type.String(),
  inventory_revision: Type.Integer(),
  since: nullable(
    Type.Object(
      { at: Time, by: Type.Enum(['order', 'folder']), inventory_revision: Type.Integer() },
      { description: 'null: the node has received no files yet' },
    ),
  ),
  files: Type.Array(Change),
});

export const EditedNode = Type.Object({
  node: Type.String(),
  files: Type.Array(Change),
  reasons: Type.Array(Type.String(), { description: 'Why it cannot be rendered after the edit' }),
});

export const SiteRendering = Type.Object({
  site: Type.String(),
  inventory_revision: Type.Integer(),
  files: Type.Array(File),
  left_out: Type.Array(Type.Object({ node: Type.String(), reasons: Type.Array(Type.String()) })),
});

export const TemplateState = Type.Object({
  overridden: Type.Integer({ description: "Number of the operator's templates in use" }),
  problems: Type.Array(Type.String(), {
    description: 'Why the templates in the folder are not used; the last valid ones stay in use',
  }),
});

export type RenderedNode = Static<typeof Rendering>;

export type RenderedSite = Static<typeof SiteRendering>;
