import { type Static, Type } from 'typebox';
import type { ObjectChange } from '../../domain/inventory.ts';
import { EditedNode } from './rendering.ts';

/** An inventory object in the spelling of the files. The inventory's own check reads it, and names what is wrong. */
export const NodeDocument = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'One entry of `nodes` as the schema InventoryDocument has it: name, sku, profile, interfaces, bmc, labels …',
});

export const NodeImport = Type.Object(
  {
    nodes: Type.Array(NodeDocument, { minItems: 1, maxItems: 10_000 }),
    dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing; tell what would change' })),
  },
  { additionalProperties: false },
);

export const InventoryApply = Type.Object(
  {
    sources: Type.Array(
      Type.Object(
        {
          name: Type.String({ description: 'Owns what the document declares; what has left it is removed' }),
          file: Type.Optional(Type.String({ description: 'What messages call it; its name when left out' })),
          document: Type.Record(Type.String(), Type.Unknown(), {
            description: 'As the schema InventoryDocument has it',
          }),
        },
        { additionalProperties: false },
      ),
      { minItems: 1, maxItems: 1000 },
    ),
    dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing; tell what would change' })),
    diff: Type.Optional(
      Type.Boolean({ description: 'In a dry run: how the renderings of nodes would change, line by line' }),
    ),
  },
  { additionalProperties: false },
);

export const ApplyAnswer = Type.Object({
  dry_run: Type.Boolean(),
  revision: Type.Integer(),
  declared_revision: Type.Integer(),
  changes: Type.Array(
    Type.Object({
      kind: Type.String(),
      name: Type.String(),
      source: Type.String(),
      change: Type.Enum(['created', 'changed', 'removed', 'refused']),
      details: Type.Array(Type.String()),
    }),
  ),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'What works and should be changed, such as a key that has a new name' }),
  ),
  unchanged: Type.Integer({ description: 'How many objects are as they were; they are not listed' }),
  renderings: Type.Optional(
    Type.Array(EditedNode, {
      description:
        'In a dry run: the nodes that would be given something else than now; those that come or go are not listed',
    }),
  ),
});

export const applyView = (report: {
  dryRun: boolean;
  revision: number;
  declaredRevision: number;
  changes: readonly ObjectChange[];
  warnings: readonly string[];
}): Static<typeof ApplyAnswer> => ({
  dry_run: report.dryRun,
  revision: report.revision,
  declared_revision: report.declaredRevision,
  changes: report.changes.flatMap(({ kind, name, source, change, details }) =>
    change === 'unchanged' ? [] : [{ kind, name, source, change, details: [...details] }],
  ),
  ...(report.warnings.length > 0 && { warnings: [...report.warnings] }),
  unchanged: report.changes.filter(({ change }) => change === 'unchanged').length,
});
