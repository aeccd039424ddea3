// What a machine would get at each boot stage.

import { Type } from 'typebox';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { component, nullable } from './shared.ts';

const Text = nullable(Type.String());

const Because = Type.Object({ id: Type.String(), words: Type.String(), hint: Type.String() });

export const Explanation = component(
  'Explanation',
  Type.Object({
    subject: Type.Object({
      mac: Type.String(),
      hostname: Text,
      state: nullable(Type.Enum([...LIFECYCLE_STATES])),
      supposed: Type.Boolean({ description: 'Whether the state was assumed by the request' }),
      network: Text,
      site: Text,
      architecture: Type.String(),
      via: Text,
    }),
    stages: Type.Array(
      Type.Object({
        stage: Type.Enum(['firmware', 'loader', 'ipxe', 'script', 'kernel', 'service-os', 'first-boot']),
        reached: Type.Boolean(),
        asks: Type.String(),
        answer: Type.String(),
        file: Type.Optional(Type.String()),
        url: Type.Optional(Type.String()),
        because: Because,
      }),
    ),
    outcome: Type.Object({
      kind: Type.Enum(['silent', 'local-disk', 'service-os', 'installer', 'refusal', 'hold']),
      mode: Type.Optional(Type.Enum(['inspect', 'commission', 'rescue', 'erase'])),
      profile: Type.Optional(Type.String()),
      intent: Type.Optional(Type.String()),
      whatToDo: Type.Optional(Type.String()),
    }),
    because: Because,
    notes: Type.Array(Type.String()),
  }),
);
