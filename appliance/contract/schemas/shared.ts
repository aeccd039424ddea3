// Schema parts that several schemas share.

import { type Static, type TSchema, Type } from 'typebox';
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';

export const nullable = <S extends TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

export const Time = Type.String({ format: 'date-time' });

export const PageSize = (standard: number, most: number) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: most, description: `At most this many (${standard})` }));

/** A schema that others reference; it becomes a component of the OpenAPI document. */
export const component = <S extends TSchema>($id: string, schema: S) => ({ schema: { ...schema, $id } as S, $id });

export const refTo = <S extends TSchema>(named: { schema: S; $id: string }) =>
  Type.Unsafe<Static<S>>({ $ref: `${named.$id}#` });

export const ErrorCodes = component(
  'ErrorCode',
  Type.Enum(Object.keys(ERRORS) as ErrorCode[], { description: 'Stable error code' }),
);

export const ErrorEnvelope = component(
  'Error',
  Type.Object(
    {
      code: refTo(ErrorCodes),
      message: Type.String({ description: 'For a person: what is wrong, and where' }),
      correlation_id: Type.String({ description: 'Also in the log line of this request' }),
      details: Type.Optional(Type.Array(Type.String(), { description: 'One finding each, when there are several' })),
      hint: Type.Optional(Type.String({ description: 'What to do, if it differs from the hint of the code' })),
    },
    { description: 'The answer to every failed request' },
  ),
);
