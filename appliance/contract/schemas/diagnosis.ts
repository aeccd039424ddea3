// The diagnosis of a node and of the site, the timeline of a boot, and the recording that can be replayed.

import { Type } from 'typebox';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { nullable } from './shared.ts';

const time = Type.String({ format: 'date-time' });
const seconds = Type.Number({ description: 'Seconds' });

const Evidence = Type.Object({
  at: nullable(time),
  source: Type.Enum(['machine', 'console', 'bmc', 'appliance', 'node', 'network', 'operator']),
  words: Type.String(),
});

const Confidence = Type.Enum(['certain', 'likely', 'possible']);

const Cause = Type.Object({
  id: Type.String({ description: 'Stable; docs/diagnosis.md lists all of them' }),
  owner: Type.Enum(['network', 'machine', 'node', 'appliance', 'operator'], { description: 'Who can remedy it' }),
  reason: Type.String(),
  confidence: Confidence,
  explains: Type.Boolean({ description: 'It explains why the node stopped in its current stage' }),
  evidence: Type.Array(Evidence),
  against: Type.Array(Evidence),
  next_step: Type.String(),
  verify: Type.String({ description: 'How to see that the next step worked' }),
});

const Stage = Type.Object({
  stage: Type.String(),
  waits_for: Type.String(),
  began: time,
  allowed_seconds: seconds,
  expected: nullable(Type.Object({ median_seconds: seconds, p90_seconds: seconds, samples: Type.Integer() })),
  overdue: Type.Boolean(),
});

export const DiagnosisAnswer = Type.Object({
  node: Type.String(),
  state: Type.Enum([...LIFECYCLE_STATES]),
  waits_for: Type.String(),
  symptom: nullable(Type.String({ description: 'Where it stands, compared with similar machines' })),
  stage: nullable(Stage),
  diagnosis: nullable(Cause),
  alternatives: Type.Array(Cause),
});

export const SiteDiagnosisAnswer = Type.Object({
  looked_at: Type.Integer({
    description:
      'Nodes that work, wait for enrollment, failed, are silent or quarantined, or report a failed unit or a wrong clock',
  }),
  in_time: Type.Integer({ description: 'Those of them without a problem' }),
  problems: Type.Array(
    Type.Object({
      id: Type.String(),
      summary: Type.String(),
      confidence: Confidence,
      nodes: Type.Array(Type.String()),
      common: Type.Array(Type.String(), { description: 'What all of these nodes have in common, and no others' }),
      since: time,
      next_step: Type.String(),
      verify: Type.String(),
    }),
  ),
});

export const TimelineAnswer = Type.Object({
  node: Type.String(),
  work: nullable(Type.String({ description: 'The state that was worked on' })),
  began: nullable(time),
  ended: nullable(time),
  attempts: Type.Integer({ description: 'How often the machine started to boot' }),
  stages: Type.Array(
    Type.Object({
      stage: Type.String(),
      waits_for: Type.String(),
      began: time,
      ended: nullable(time),
      seconds: nullable(seconds),
      expected: nullable(Type.Object({ median_seconds: seconds, p90_seconds: seconds, samples: Type.Integer() })),
      overdue: Type.Boolean(),
    }),
  ),
  steps: Type.Array(
    Type.Object({ step: Type.String(), began: time, ended: nullable(time), ok: nullable(Type.Boolean()) }),
  ),
});

export const Recording = Type.Object({
  format: Type.Integer(),
  version: Type.String(),
  recorded_at: time,
  situation: Type.Unknown({ description: 'The input of the diagnosis' }),
  decision: Type.Unknown({ description: 'The input of the boot decision' }),
});
