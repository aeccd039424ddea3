// Inventory documents, and the changes of an apply.

import { type TSchema, Type } from 'typebox';
import { InventoryDocument } from '../../inventory/schema.ts';
import { EditedNode } from './rendering.ts';
import { component, refTo } from './shared.ts';

/** An inventory object in the format of the files. The inventory check validates it and names each problem. */
export const NodeDocument = Type.Record(Type.String(), Type.Unknown(), {
  description:
    'One entry of `nodes` as the schema InventoryDocument has it: name, sku, profile, interfaces, bmc, labels …',
});

export const NodeImport = Type.Object(
  {
    nodes: Type.Array(NodeDocument, { minItems: 1, maxItems: 10_000 }),
    dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing; report what would change' })),
  },
  { additionalProperties: false },
);

const inventoryApply = <S extends TSchema>(document: S) =>
  Type.Object(
    {
      sources: Type.Array(
        Type.Object(
          {
            name: Type.String({
              description: 'The owner of what the document declares; objects that are no longer in it are removed',
            }),
            file: Type.Optional(Type.String({ description: 'Its name in messages; default: name' })),
            document,
          },
          { additionalProperties: false },
        ),
        { minItems: 1, maxItems: 1000 },
      ),
      dry_run: Type.Optional(Type.Boolean({ description: 'Change nothing; report what would change' })),
      diff: Type.Optional(Type.Boolean({ description: 'In a dry run: the line changes of rendered files' })),
    },
    { additionalProperties: false },
  );

/** The inventory check validates the documents, and names each problem with line and reason. */
export const InventoryApply = inventoryApply(Type.Record(Type.String(), Type.Unknown()));

export const NamedInventoryDocument = component('InventoryDocument', InventoryDocument);
/** The same for the OpenAPI document, with the whole schema of an inventory document. */
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
  warnings: Type.Optional(Type.Array(Type.String(), { description: 'Accepted but deprecated, such as a renamed key' })),
  unchanged: Type.Integer({ description: 'Number of unchanged objects, which are not listed' }),
  renderings: Type.Optional(
    Type.Array(EditedNode, {
      description:
        'In a dry run: the nodes that would be given something else than now; those that come or go are not listed',
    }),
  ),
});
