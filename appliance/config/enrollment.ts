// The section `enrollment:` of the site file: lifetimes and intervals of nodes, and the names that their agents use.

import { type Static, Type } from 'typebox';
import type { ValidPart } from '../documents/structure.ts';
import { HOUR, SECOND } from '../domain/instant.ts';

export const EnrollmentDocument = Type.Object(
  {
    certificate_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 8784 })),
    token_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 168 })),
    heartbeat_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 300 })),
    silent_seconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 86_400 })),
    agent_names: Type.Optional(
      Type.String({ pattern: '^[a-z][a-z0-9]{0,15}$', description: 'a name: lower-case letters and digits' }),
    ),
  },
  { additionalProperties: false },
);

/** The key of each setting in the file, and its unit. */
const ENROLLMENT_TIMES = {
  nodeLifetime: ['certificate_hours', HOUR],
  tokenLifetime: ['token_hours', HOUR],
  heartbeatEvery: ['heartbeat_seconds', SECOND],
  silentAfter: ['silent_seconds', SECOND],
} as const;

/** Times in milliseconds. Omitted settings have defaults. */
export type EnrollmentConfig = Readonly<Partial<Record<keyof typeof ENROLLMENT_TIMES, number>>> & {
  readonly agentNames?: string;
};

export function enrollmentConfig(document: ValidPart<Static<typeof EnrollmentDocument>>): EnrollmentConfig {
  const times = Object.fromEntries(
    Object.entries(ENROLLMENT_TIMES).flatMap(([setting, [key, unit]]) => {
      const value = document[key];
      return value === undefined ? [] : [[setting, value * unit]];
    }),
  );
  return { ...times, ...(document.agent_names !== undefined && { agentNames: document.agent_names }) };
}
