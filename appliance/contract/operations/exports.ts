// The operations of the export of events.

import { type Operation, V1, WRITES } from '../operation.ts';

const viewer = { method: 'GET', access: 'viewer', tag: 'export', errors: [], write: null } as const;

export const EXPORT_OPERATIONS = {
  listExports: {
    ...viewer,
    path: `${V1}/exports`,
    summary: 'List the receivers of events: how far each has got, and why it fails',
    cli: 'exports list',
  },
  listDeadLetters: {
    ...viewer,
    path: `${V1}/exports/:receiver/dead-letters`,
    summary: 'List the events that a receiver refused, oldest first',
    cli: 'exports dead-letters',
  },
  replayDeadLetters: {
    method: 'POST',
    path: `${V1}/exports/:receiver/replay`,
    access: 'operator',
    tag: 'export',
    summary: 'Send dead letters to their receiver again; all, or those that are named',
    errors: [],
    write: { ...WRITES, idempotent: true },
    cli: 'exports replay',
  },
} as const satisfies Readonly<Record<string, Operation>>;
