// The operations on terminals of nodes.

import { type Operation, V1, WRITES } from '../operation.ts';

const rows = { access: 'operator', tag: 'allocations' } as const;

export const TERMINAL_OPERATIONS = {
  openNodeTerminal: {
    ...rows,
    method: 'GET',
    path: `${V1}/nodes/:node/terminal`,
    status: 101,
    errors: ['conflict', 'service_unavailable'],
    write: null,
    summary:
      'Open a terminal as the user of the allocation, a stream of frames in both directions: send Connection: Upgrade and Upgrade: coldiron-terminal',
    cli: 'terminal',
  },
  listTerminals: {
    ...rows,
    method: 'GET',
    path: `${V1}/terminals`,
    access: 'viewer',
    errors: ['not_found'],
    write: null,
    summary: 'List the open terminals',
    cli: 'terminals list',
  },
  closeTerminal: {
    ...rows,
    method: 'DELETE',
    path: `${V1}/terminals/:terminal`,
    errors: [],
    write: { ...WRITES, idempotent: true },
    summary: 'Close a terminal',
    cli: 'terminals close',
  },
} as const satisfies Readonly<Record<string, Operation>>;
