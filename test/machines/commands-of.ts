// Commands over a store, for tests without special needs.

import { randomUUID } from 'node:crypto';
import type { Instant } from '../../appliance/domain/instant.ts';
import { type ExecuteDeps, MachineCommands } from '../../appliance/machines/execute.ts';

export const commandsOf = (
  store: ExecuteDeps['store'],
  now: () => Instant,
  minutes: number | null = 30,
): MachineCommands => new MachineCommands({ store, now, newId: randomUUID, deployMinutes: () => minutes });
