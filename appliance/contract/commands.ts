// The commands that move a node through its lifecycle, one row each. Route, role, OpenAPI entry and CLI verb come from the row.

import { type GeneratedVerb, type Operation, V1, type Way, WRITES_NODE, type Write } from './operation.ts';

interface CommandRow {
  readonly summary: string;
  readonly verb: string;
  /** The help text of the verb. */
  readonly means: string;
  readonly role?: 'operator' | 'admin';
  readonly way?: Way;
  readonly write?: Partial<Write>;
  readonly errors?: Operation['errors'];
  readonly example?: string;
  /** The parent of a subcommand: `nodes accept`. */
  readonly below?: string;
  /** Also below /admin/nodes, as runbooks of other systems call it. */
  readonly admin?: true;
}

export interface NodeCommand extends Operation {
  readonly write: Write;
  readonly cli: GeneratedVerb;
}

/** Refused while the node is allocated. */
const TAKES_FROM_USER: ReadonlySet<string> = new Set(['commission', 'deploy', 'release', 'drain', 'retire', 'remove']);

const command = (row: CommandRow): NodeCommand => ({
  method: 'POST',
  path: `${V1}/nodes/:node/${row.verb}`,
  ...(row.admin && { aliases: [`${V1}/admin/nodes/:node/${row.verb}`] }),
  access: row.role ?? 'operator',
  tag: 'nodes',
  summary: row.summary,
  errors: ['conflict', ...(TAKES_FROM_USER.has(row.verb) ? (['node_in_use'] as const) : []), ...(row.errors ?? [])],
  etag: 'version',
  // The command id makes a repeated command harmless: the store returns the recorded result.
  write: { ...WRITES_NODE, idempotent: true, ...row.write },
  cli: {
    verb: row.below === undefined ? row.verb : `${row.below} ${row.verb}`,
    summary: row.means,
    way: row.way ?? null,
    ...(row.example !== undefined && { example: row.example }),
  },
});

export const NODE_COMMANDS = {
  acceptNode: command({
    verb: 'accept',
    below: 'nodes',
    summary: 'Accept a discovered machine into the inventory',
    means: 'accept discovered machines into the inventory',
  }),
  commissionNode: command({
    verb: 'commission',
    summary: 'Collect hardware facts and test the hardware; disks do not change',
    means: 'collect the hardware facts of a node and test its hardware; its disks do not change',
    way: { via: ['commissioning'], to: 'ready' },
  }),
  deployNode: command({
    verb: 'deploy',
    summary: 'Install a profile; the data on the disk is lost',
    means: "install a node's profile; the data on its disk is lost",
    way: { via: ['deploying', 'enrolling'], to: 'active' },
    write: { destroys: 'overwrites the data on the disk' },
    errors: ['not_deployable'],
    example: 'coldiron deploy node05 --wait\n  coldiron deploy --rack r7 --in ready --dry-run',
  }),
  releaseNode: command({
    verb: 'release',
    summary: 'Erase the disks and return the node to ready',
    means: 'erase the disks of a node and return it to ready',
    way: { via: ['releasing'], to: 'ready' },
    write: { destroys: 'erases all disks' },
  }),
  markNodeFixed: command({
    verb: 'mark-fixed',
    summary: 'Return a node whose deployment or enrollment failed to ready; its disks do not change',
    means: 'return a node whose deployment or enrollment failed to ready; its disks do not change',
    way: { via: [], to: 'ready' },
  }),
  cancelNodeWork: command({
    verb: 'cancel',
    summary: 'Cancel commissioning, deploying, enrolling or releasing',
    means: 'cancel the commissioning, deployment, enrollment or release of a node',
    way: { via: [], to: null },
  }),
  rescueNode: command({
    verb: 'rescue',
    summary: 'Start the service OS with SSH',
    means: 'start the service OS of a node with SSH',
    way: { via: [], to: 'rescue' },
  }),
  endNodeRescue: command({
    verb: 'end-rescue',
    summary: 'Return from rescue to the installed system',
    means: 'return a node from rescue to its installed system',
    way: { via: [], to: null },
  }),
  drainNode: command({
    verb: 'drain',
    summary: 'Drain the workload',
    means: 'drain the workload of a node',
    way: { via: ['draining'], to: 'retired' },
  }),
  confirmNodeDrained: command({
    verb: 'drained',
    summary: 'Confirm that the workload has left, for a node that cannot report it itself',
    means: 'confirm that the workload has left, for a node that cannot report it itself',
    way: { via: [], to: 'retired' },
  }),
  undrainNode: command({
    verb: 'undrain',
    summary: 'Allow workload again',
    means: 'allow workload on a node again',
    way: { via: [], to: 'active' },
  }),
  retireNode: command({
    verb: 'retire',
    admin: true,
    summary: 'Take a node out of use; it can be reactivated',
    means: 'take a node out of use; it can be reactivated',
  }),
  reactivateNode: command({
    verb: 'reactivate',
    admin: true,
    summary: 'Return a retired node to the state it had before',
    means: 'return a retired node to the state it had before',
  }),
  quarantineNode: command({
    verb: 'quarantine',
    summary: 'Stop trusting a node: it boots nothing until it is cleared',
    means: 'stop trusting a node: it boots nothing until it is cleared',
  }),
  clearNodeQuarantine: command({
    verb: 'clear-quarantine',
    summary: 'Trust a quarantined node again',
    means: 'trust a quarantined node again',
  }),
  rebindNode: command({
    verb: 'rebind',
    below: 'nodes',
    summary: 'Accept the changed hardware of a node, or the TPM that it showed first, as its identity',
    means: 'accept the changed hardware of a node, or the TPM that it showed first, as its identity',
    way: { via: [], to: null },
    example: 'coldiron nodes rebind node05 --note "new mainboard"',
  }),
  removeNode: command({
    verb: 'remove',
    admin: true,
    errors: ['not_retired'],
    role: 'admin',
    summary: 'Delete a retired node and its identity permanently',
    means: 'delete a retired node permanently',
    write: { destroys: 'permanently ends the identity' },
  }),
} as const satisfies Readonly<Record<string, NodeCommand>>;

export type CommandId = keyof typeof NODE_COMMANDS;
