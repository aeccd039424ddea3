// A handler for every operation of the table.

import type { Handlers } from './handler.ts';
import { accessHandlers } from './handlers/access.ts';
import { agentHandlers } from './handlers/agents.ts';
import { allocationHandlers } from './handlers/allocations.ts';
import { bmcHandlers } from './handlers/bmc.ts';
import { diagnosisHandlers } from './handlers/diagnosis.ts';
import { enrollmentHandlers } from './handlers/enrollment.ts';
import { exportHandlers } from './handlers/exports.ts';
import { liveHandlers } from './handlers/live.ts';
import { commandHandlers } from './handlers/node-commands.ts';
import { nodeHandlers } from './handlers/nodes.ts';
import { onboardingHandlers } from './handlers/onboardings.ts';
import { proposalHandlers } from './handlers/proposals.ts';
import { renderingHandlers } from './handlers/renderings.ts';
import { signInHandlers } from './handlers/sign-in.ts';
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
  ...signInHandlers,
  ...liveHandlers,
  ...exportHandlers,
  ...accessHandlers,
  ...allocationHandlers,
  ...agentHandlers,
  ...proposalHandlers,
  ...terminalHandlers,
};
