// The operation table: all operations of the management API, by operationId.

import { NODE_COMMANDS } from './commands.ts';
import type { Operation } from './operation.ts';
import { ACCESS_OPERATIONS } from './operations/access.ts';
import { AGENT_OPERATIONS } from './operations/agents.ts';
import { ALLOCATION_OPERATIONS } from './operations/allocations.ts';
import { BMC_OPERATIONS } from './operations/bmc.ts';
import { EXPORT_OPERATIONS } from './operations/exports.ts';
import { NODE_OPERATIONS } from './operations/nodes.ts';
import { ONBOARDING_OPERATIONS } from './operations/onboardings.ts';
import { PROPOSAL_OPERATIONS } from './operations/proposals.ts';
import { SIGN_IN_OPERATIONS } from './operations/sign-in.ts';
import { SITE_OPERATIONS } from './operations/site.ts';
import { TERMINAL_OPERATIONS } from './operations/terminals.ts';

const TABLE = {
  ...NODE_OPERATIONS,
  ...NODE_COMMANDS,
  ...ONBOARDING_OPERATIONS,
  ...BMC_OPERATIONS,
  ...EXPORT_OPERATIONS,
  ...ACCESS_OPERATIONS,
  ...ALLOCATION_OPERATIONS,
  ...AGENT_OPERATIONS,
  ...PROPOSAL_OPERATIONS,
  ...TERMINAL_OPERATIONS,
  ...SITE_OPERATIONS,
  ...SIGN_IN_OPERATIONS,
};

export type OperationId = keyof typeof TABLE;

export const OPERATIONS: Readonly<Record<OperationId, Operation>> = TABLE;

export const OPERATION_IDS = Object.keys(TABLE) as OperationId[];
