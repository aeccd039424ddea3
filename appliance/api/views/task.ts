// A task as the API shows it.

import type { Static } from 'typebox';
import type { Task } from '../../contract/schemas/task.ts';
import { instantText } from '../../domain/instant.ts';
import type { Task as TaskRecord } from '../../domain/task.ts';
import { timeText } from './time-text.ts';

export const taskView = (task: TaskRecord): Static<typeof Task.schema> => ({
  id: task.id,
  kind: task.kind,
  parameters: { ...task.parameters },
  state: task.state,
  actor: task.actor,
  created_at: instantText(task.createdAt),
  expires_at: instantText(task.expiresAt),
  attempts: task.attempts,
  finished_at: timeText(task.finishedAt),
  output: task.result?.output ?? null,
});
