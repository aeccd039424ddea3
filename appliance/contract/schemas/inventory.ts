// Inventory documents, and what applying them changes.

import { type TSchema, Type } from 'typebox';
import { InventoryDocument } from '../../inventory/schema.ts';
import { EditedNode } from './rendering.ts';
import { component, refTo } from './shared.ts';

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

const inventoryApply = <S extends TSchema>(document: S) =>
  Type.Object(
    {
      sources: Type.Array(
        Type.Object(
          {
            name: Type.String({ description: 'Owns what the document declares; what has left it is removed' }),
            file: Type.Optional(Type.String({ description: 'What messages call it; its name when left out' })),
            document,
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

/** The inventory's own check reads the documents, and names what is wrong with line and reason. */
export const InventoryApply = inventoryApply(Type.Record(Type.String(), Type.Unknown()));

export const NamedInventoryDocument = component('InventoryDocument', InventoryDocument);
/** The same for readers of the OpenAPI document, with the whole schema of a document. */
export const DocumentedInventoryApply = inventoryApply(refTo(NamedInventoryDocument));

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
