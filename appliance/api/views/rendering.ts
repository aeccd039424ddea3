// Renderings as the API shows them.

import { createHash } from 'node:crypto';
import type { Static } from 'typebox';
import type { File, RenderedNode, RenderingDifference } from '../../contract/schemas/rendering.ts';
import type { NodeRendering, RenderingChanges } from '../../deliveries/renderings.ts';
import { instantText } from '../../domain/instant.ts';
import type { RenderedFile } from '../../render/rendered-file.ts';

export const fileView = (file: RenderedFile, withSecrets: boolean): Static<typeof File> => ({
  path: file.path,
  mode: file.mode.toString(8).padStart(4, '0'),
  secret: file.secret,
  sha256: createHash('sha256').update(file.text).digest('hex'),
  text: file.secret && !withSecrets ? null : file.text,
});

export const renderingView = ({ plan, files, missing }: NodeRendering, withSecrets: boolean): RenderedNode => ({
  node: plan.hostname,
  fqdn: plan.fqdn,
  profile: plan.profile.name,
  kind: plan.profile.kind,
  inventory_revision: plan.inventoryRevision,
  missing: [...missing],
  files: files.map((file) => fileView(file, withSecrets)),
});

export const differenceView = (
  node: string,
  { since, inventoryRevision, files }: RenderingChanges,
): Static<typeof RenderingDifference> => ({
  node,
  inventory_revision: inventoryRevision,
  since: since && { at: instantText(since.at), by: since.by, inventory_revision: since.inventoryRevision },
  files: files.map((file) => ({ ...file })),
});
