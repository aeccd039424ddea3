// Calls of the management API by operation id: path, method and types come from the operation table, as for the CLI.

import { OPERATIONS, type OperationId } from '../../contract/operations.ts';
import type { Answer, Body, Params, Query } from '../../contract/wire.ts';
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';

type Given<T, K extends string> = [T] extends [undefined]
  ? { readonly [key in K]?: undefined }
  : { readonly [key in K]: T };

export type Input<Id extends OperationId> = Given<Params<Id>, 'params'> &
  Given<Body<Id>, 'body'> &
  (Query<Id> extends undefined ? { readonly query?: undefined } : { readonly query?: Query<Id> });

export interface Options {
  readonly signal?: AbortSignal;
  /** The same key again gets the recorded answer; left out: each call is a new request. */
  readonly key?: string;
  readonly version?: number;
}

/** A refusal of the appliance, or no answer at all. */
export class Failure extends Error {
  readonly code: ErrorCode | 'offline' | 'foreign';
  readonly status: number;
  readonly details: readonly string[];
  readonly hint: string;
  readonly correlationId: string | null;

  constructor(parts: Pick<Failure, 'code' | 'status' | 'message' | 'details' | 'hint' | 'correlationId'>) {
    super(parts.message);
    this.code = parts.code;
    this.status = parts.status;
    this.details = parts.details;
    this.hint = parts.hint;
    this.correlationId = parts.correlationId;
  }
}

let whenSignedOut: (failure: Failure, askedAt: number) => void = () => {};
/** Called when the appliance does not know the caller any more, with the time of the request (`performance.now`). */
export const onSignedOut = (listener: typeof whenSignedOut): void => {
  whenSignedOut = listener;
};

/** `randomUUID` exists only in secure contexts. */
export const newKey = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');

export function urlOf<Id extends OperationId>(id: Id, input: Input<Id>): string {
  const { params, query } = input as { params?: Record<string, string>; query?: Record<string, unknown> };
  const path = OPERATIONS[id].path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params?.[name] ?? ''));
  const sent = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of value === undefined ? [] : [value].flat()) sent.append(name, String(each));
  }
  return sent.size === 0 ? path : `${path}?${sent}`;
}

export async function call<Id extends OperationId>(
  id: Id,
  input: Input<Id>,
  options: Options = {},
): Promise<Answer<Id>> {
  const askedAt = performance.now();
  const { method, write } = OPERATIONS[id];
  const { body } = input as { body?: unknown };
  const answer = await request(urlOf(id, input), {
    method,
    credentials: 'same-origin',
    headers: {
      'x-coldiron-page': '1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(write !== null && id !== 'signIn' && { 'idempotency-key': options.key ?? newKey() }),
      ...(options.version !== undefined && { 'if-match': `"${options.version}"` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(options.signal && { signal: options.signal }),
  });
  const content: unknown = await answer.json().catch(() => null);
  if (answer.ok || id === 'getHealth') return content as Answer<Id>;
  const failure = failureOf(answer, content);
  if (failure.code === 'unauthenticated' && id !== 'signIn') whenSignedOut(failure, askedAt);
  throw failure;
}

async function request(url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Failure({
      ...{ code: 'offline', status: 0, details: [], correlationId: null },
      message: 'The appliance does not answer.',
      hint: 'Check the network between this device and the appliance. The page connects again by itself.',
    });
  }
}

function failureOf({ status, headers }: Response, content: unknown): Failure {
  const correlationId = headers.get('x-correlation-id');
  const { code, message, details, hint } = (content ?? {}) as Partial<Record<string, unknown>>;
  if (typeof code !== 'string' || !(code in ERRORS)) {
    return new Failure({
      ...{ code: 'foreign', status, details: [], correlationId },
      message: `The answer (${status}) does not come from Coldiron.`,
      hint: 'Check whether a proxy between this device and the appliance answered instead.',
    });
  }
  return new Failure({
    ...{ code: code as ErrorCode, status, correlationId },
    message: String(message),
    details: Array.isArray(details) ? details.map(String) : [],
    hint: typeof hint === 'string' ? hint : ERRORS[code as ErrorCode].hint,
  });
}

export const asFailure = (error: unknown): Failure =>
  error instanceof Failure
    ? error
    : new Failure({
        ...{ code: 'internal', status: 0, details: [], correlationId: null },
        message: error instanceof Error ? error.message : String(error),
        hint: 'This is a bug in the page. Load it again; if it stays, report it with this sentence.',
      });
