// A handler for every operation of the table.

import type { Handlers } from './handler.ts';
import { bmcHandlers } from './handlers/bmc.ts';
import { diagnosisHandlers } from './handlers/diagnosis.ts';
import { enrollmentHandlers } from './handlers/enrollment.ts';
import { commandHandlers } from './handlers/node-commands.ts';
import { nodeHandlers } from './handlers/nodes.ts';
import { renderingHandlers } from './handlers/renderings.ts';
import { siteHandlers } from './handlers/site.ts';

export const HANDLERS: Handlers = {
  ...nodeHandlers,
  ...commandHandlers,
  ...bmcHandlers,
  ...diagnosisHandlers,
  ...enrollmentHandlers,
  ...renderingHandlers,
  ...siteHandlers,
};
