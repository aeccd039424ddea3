// Calls operations of the table by their id: path, method and the type of the answer come from the row.

import { OPERATIONS, type OperationId } from '../contract/operations.ts';
import type { Answer, Body, Params, Query } from '../contract/wire.ts';
import type { Connection } from './connection.ts';

type Given<T, K extends string> = T extends undefined
  ? { readonly [key in K]?: undefined }
  : { readonly [key in K]: T };
/** Texts and numbers as a URL takes them. */
type QueryText<T> = { readonly [K in keyof T]?: string | readonly string[] | undefined };

export type Input<Id extends OperationId> = Given<Params<Id>, 'params'> &
  Given<Body<Id>, 'body'> &
  (Query<Id> extends undefined ? { readonly query?: undefined } : { readonly query?: QueryText<Query<Id>> });

export function operate<Id extends OperationId>(connection: Connection, id: Id, input: Input<Id>): Promise<Answer<Id>> {
  const { method, path } = OPERATIONS[id];
  const { params, query, body } = input as Input<OperationId>;
  return connection.call<Answer<Id>>(method, pathOf(path, params), { query, body });
}

/** The path of an operation with its parameters filled in. */
export const pathOf = (path: string, params: object = {}): string =>
  path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent((params as Record<string, string>)[name] ?? ''));
