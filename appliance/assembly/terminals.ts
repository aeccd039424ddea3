// Terminals on nodes, between the management API and the node API.

import type { EnrollmentService } from '../identity/enrollment-service.ts';
import { SWEEP_EVERY } from '../identity/enrollment-service.ts';
import { repeat } from '../net/repeat.ts';
import { DEFAULT_TERMINAL_SETTINGS } from '../terminals/settings.ts';
import { Terminals } from '../terminals/terminals.ts';
import type { Foundation } from './foundation.ts';

export async function openTerminals(
  { config, store, clock, newId, logger, stops }: Foundation,
  { tasks }: Pick<EnrollmentService, 'tasks'>,
): Promise<Terminals> {
  const settings = { ...DEFAULT_TERMINAL_SETTINGS, ...config.terminals };
  const terminals = new Terminals({ store, tasks, clock, newId, settings, logger });
  await terminals.start();
  stops.add(() => terminals.stop());
  stops.add(repeat(SWEEP_EVERY, () => terminals.check(), logger));
  return terminals;
}
