// The section `terminals:` of the site file: limits of terminals on nodes.

import { type Static, Type } from 'typebox';
import type { ValidPart } from '../documents/structure.ts';
import { type Instant, SECOND } from '../domain/instant.ts';

const closed = { additionalProperties: false } as const;

export const TerminalDocument = Type.Object(
  {
    idle_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 86_400 })),
    longest_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800 })),
    per_node: Type.Optional(Type.Integer({ minimum: 0, maximum: 64 })),
    in_total: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000 })),
  },
  closed,
);

/** Omitted ones have defaults. */
export interface TerminalLimits {
  readonly idle?: Instant;
  readonly longest?: Instant;
  readonly perNode?: number;
  readonly inTotal?: number;
}

export const terminalLimits = (document: ValidPart<Static<typeof TerminalDocument>> = {}): TerminalLimits =>
  given({
    idle: times(document.idle_seconds, SECOND),
    longest: times(document.longest_seconds, SECOND),
    perNode: document.per_node,
    inTotal: document.in_total,
  });

const times = (value: number | undefined, unit: number): number | undefined =>
  value === undefined ? undefined : value * unit;

/** Without the settings that were left out. */
const given = (settings: Readonly<Record<string, number | undefined>>): Readonly<Record<string, number>> =>
  Object.fromEntries(Object.entries(settings).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
