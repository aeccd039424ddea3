// A handler for every operation of the table.

import type { Handlers } from './handler.ts';
import { accessHandlers } from './handlers/access.ts';
import { allocationHandlers } from './handlers/allocations.ts';
import { bmcHandlers } from './handlers/bmc.ts';
import { diagnosisHandlers } from './handlers/diagnosis.ts';
import { enrollmentHandlers } from './handlers/enrollment.ts';
import { exportHandlers } from './handlers/exports.ts';
import { commandHandlers } from './handlers/node-commands.ts';
import { nodeHandlers } from './handlers/nodes.ts';
import { onboardingHandlers } from './handlers/onboardings.ts';
import { renderingHandlers } from './handlers/renderings.ts';
import { siteHandlers } from './handlers/site.ts';
import { terminalHandlers } from './handlers/terminals.ts';

export const HANDLERS: Handlers = {
  ...nodeHandlers,
  ...commandHandlers,
  ...onboardingHandlers,
  ...bmcHandlers,
  ...diagnosisHandlers,
  ...enrollmentHandlers,
  ...renderingHandlers,
  ...siteHandlers,
  ...exportHandlers,
  ...accessHandlers,
  ...allocationHandlers,
  ...terminalHandlers,
};
