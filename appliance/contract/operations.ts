// The operation table: all operations of the management API, by operationId.

import { NODE_COMMANDS } from './commands.ts';
import type { Operation } from './operation.ts';
import { BMC_OPERATIONS } from './operations/bmc.ts';
import { NODE_OPERATIONS } from './operations/nodes.ts';
import { SITE_OPERATIONS } from './operations/site.ts';

const TABLE = { ...NODE_OPERATIONS, ...NODE_COMMANDS, ...BMC_OPERATIONS, ...SITE_OPERATIONS };

export type OperationId = keyof typeof TABLE;

export const OPERATIONS: Readonly<Record<OperationId, Operation>> = TABLE;

export const OPERATION_IDS = Object.keys(TABLE) as OperationId[];
