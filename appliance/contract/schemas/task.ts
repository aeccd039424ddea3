// Tasks of enrolled nodes.

import { Type } from 'typebox';
import { OPERATOR_TASK_KINDS, TASK_KIND_NAMES, TASK_STATES } from '../../domain/task.ts';
import { component, nullable, Time } from './shared.ts';

export const Task = component(
  'Task',
  Type.Object({
    id: Type.String(),
    kind: Type.Enum([...TASK_KIND_NAMES]),
    parameters: Type.Record(Type.String(), Type.String()),
    state: Type.Enum([...TASK_STATES]),
    actor: Type.String(),
    created_at: Time,
    expires_at: Time,
    attempts: Type.Integer({ description: 'How often it was sent to the node' }),
    finished_at: nullable(Time),
    output: nullable(Type.String({ description: 'The output that the node reported' })),
  }),
);

export const NewTask = Type.Object(
  {
    kind: Type.Enum([...OPERATOR_TASK_KINDS]),
    parameters: Type.Optional(Type.Record(Type.String(), Type.String())),
    expires_in_seconds: Type.Optional(
      Type.Integer({ minimum: 10, maximum: 86_400, description: 'How long it may wait for its node (3600)' }),
    ),
  },
  { additionalProperties: false },
);

export const TaskReference = Type.Object({
  node: Type.String({ description: 'Id, host name or MAC address' }),
  task: Type.String({ description: 'Its id' }),
});

export const TaskReason = Type.Object(
  { reason: Type.String({ minLength: 1, maxLength: 300, pattern: '^[^\\r\\n]+$', description: 'For the audit log' }) },
  { additionalProperties: false },
);
