// Input and output of the skills.

import { Type } from 'typebox';
import { DiagnosisAnswer } from '../contract/schemas/diagnosis.ts';
import { Event } from '../contract/schemas/trail.ts';

const closed = { additionalProperties: false } as const;
const count = Type.Integer({ minimum: 0 });
const name = Type.Union([Type.String(), Type.Null()]);

export const SKILLS = ['system-attribute-failure', 'capacity', 'runbook-generate'] as const;

export const SkillRequest = Type.Object(
  {
    skill: Type.Enum([...SKILLS]),
    inputs: Type.Optional(
      Type.Object(
        {
          node: Type.Optional(
            Type.String({ maxLength: 300, description: 'Id, host name or MAC address; capacity needs none' }),
          ),
          lookback_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 720, description: '24 when left out' })),
        },
        closed,
      ),
    ),
  },
  closed,
);

const Candidate = Type.Object({
  id: Type.String({ description: 'A cause of docs/diagnosis.md' }),
  confidence: Type.Enum(['certain', 'likely', 'possible']),
  reason: Type.String(),
  next_step: Type.String(),
});

export const SkillAnswer = Type.Object({
  skill: Type.Enum([...SKILLS]),
  attribution: Type.Optional(
    Type.Object({
      top_candidate: Type.Union([Candidate, Type.Null()]),
      candidates: Type.Array(Candidate),
      diagnosis: DiagnosisAnswer,
      recent_changes: Type.Array(Event.schema, {
        description: 'Changes of the node, its profile, SKU, site and networks within the time, the newest first',
      }),
    }),
  ),
  capacity: Type.Optional(
    Type.Object({
      groups: Type.Array(Type.Object({ site: name, sku: name, state: Type.String(), nodes: count })),
      skus: Type.Array(
        Type.Object({
          sku: name,
          total: count,
          free: Type.Integer({ minimum: 0, description: 'Ready, erased, allocated to nobody' }),
          in_use: count,
          failed: count,
          advice: Type.String(),
        }),
      ),
    }),
  ),
  runbook: Type.Optional(
    Type.Object({
      node: Type.String(),
      state: Type.String(),
      steps: Type.Array(Type.Object({ do: Type.String(), because: Type.String(), verify: Type.String() })),
    }),
  ),
});
