// One row of the operation table: route, role, OpenAPI entry and CLI verb of one operation.
// The rows contain no schemas (those are in wire.ts): the CLI reads the rows, and loading TypeBox takes longer than most verbs.

import type { ErrorCode } from '../domain/errors.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import type { Role } from '../domain/token.ts';
import type { Tag } from './tags.ts';

export type Access = 'public' | Role;

export const V1 = '/api/v1';

/** The states of a node after a command: `via` while it runs, then `to`. Null: the state it had before. */
export interface Way {
  readonly via: readonly LifecycleState[];
  readonly to: LifecycleState | null;
}

export interface Write {
  /** The object whose version an If-Match header names. */
  readonly precondition: 'node' | 'inventory' | null;
  /** The consequence, in words that follow "this". With it, the body needs `confirm`: the host name of the node. */
  readonly destroys: string | null;
  /** Executing it twice has the same effect as once: after a crash it is executed again. */
  readonly idempotent: boolean;
  /** The answer contains a secret, so it is never stored. */
  readonly secretAnswer: boolean;
}

/** A verb that is generated from its row; other operations name the verb that calls them. */
export interface GeneratedVerb {
  readonly verb: string;
  readonly summary: string;
  /** Null: it completes at once, and has no --wait. */
  readonly way: Way | null;
  readonly example?: string;
}

export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Other paths of the same operation, for clients that know it by them. They are not in the OpenAPI document. */
  readonly aliases?: readonly string[];
  readonly access: Access;
  readonly tag: Tag;
  readonly summary: string;
  /** Status of the answer; 200 when left out. */
  readonly status?: 101 | 201;
  /** Media type of the answer; JSON when left out. */
  readonly content?: 'text/event-stream' | 'application/openmetrics-text';
  /** In addition to the errors of every operation of its kind (errorsOf). */
  readonly errors: readonly ErrorCode[];
  /** The field of the answer that is its ETag. */
  readonly etag?: 'version' | 'declared_revision';
  /** Bytes; 1 MiB when left out. */
  readonly bodyLimit?: number;
  /** Null: read-only. */
  readonly write: Write | null;
  readonly cli: string | GeneratedVerb | null;
}

/** Defaults of a write: destroys nothing, is not idempotent and returns no secret. */
export const WRITES: Write = { precondition: null, destroys: null, idempotent: false, secretAnswer: false };
export const WRITES_NODE: Write = { ...WRITES, precondition: 'node' };

export const verbOf = ({ cli }: Operation): string | null => (typeof cli === 'string' ? cli : (cli?.verb ?? null));

/** All paths of an operation, its own first. */
export const pathsOf = ({ path, aliases = [] }: Operation): readonly string[] => [path, ...aliases];

export const takesNode = ({ path }: Operation): boolean => path.includes('/:node');

/** Every code that an operation can answer with, without repetition. */
export function errorsOf(operation: Operation): ErrorCode[] {
  const { access, path, write } = operation;
  return [
    ...new Set<ErrorCode>([
      'invalid_request',
      ...(access === 'public' ? [] : (['unauthenticated', 'forbidden', 'rate_limited'] as const)),
      ...(path.includes('/:') ? (['not_found'] as const) : []),
      ...(write ? IDEMPOTENCY_ERRORS : []),
      ...(write?.precondition ? (['version_conflict'] as const) : []),
      ...operation.errors,
      ...(access === 'public' ? [] : (['internal', 'store_unavailable'] as const)),
    ]),
  ];
}

const IDEMPOTENCY_ERRORS: readonly ErrorCode[] = [
  'payload_too_large',
  'idempotency_key_reused',
  'request_in_progress',
  'answer_not_kept',
  'outcome_unknown',
];
