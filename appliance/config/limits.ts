// Times and limits of the site file: their keys, their ranges, and their units.

import { type Static, Type } from 'typebox';
import type { ValidPart } from '../documents/structure.ts';
import { HOUR, type Instant, SECOND } from '../domain/instant.ts';

const closed = { additionalProperties: false } as const;

export const EnrollmentDocument = Type.Object(
  {
    certificate_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 8784 })),
    token_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 168 })),
    heartbeat_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 300 })),
    silent_seconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 86_400 })),
  },
  closed,
);

/** In milliseconds; omitted ones have defaults. */
export interface EnrollmentTimes {
  readonly nodeLifetime?: Instant;
  readonly tokenLifetime?: Instant;
  readonly heartbeatEvery?: Instant;
  readonly silentAfter?: Instant;
}

export const enrollmentTimes = (document: ValidPart<Static<typeof EnrollmentDocument>> = {}): EnrollmentTimes =>
  given({
    nodeLifetime: times(document.certificate_hours, HOUR),
    tokenLifetime: times(document.token_hours, HOUR),
    heartbeatEvery: times(document.heartbeat_seconds, SECOND),
    silentAfter: times(document.silent_seconds, SECOND),
  });

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
