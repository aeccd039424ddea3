// The commands of the table as the page offers them: label, role, and why one cannot be given to a node now. The appliance
// decides again; this only avoids asking for what it must refuse.

import { type CommandId, NODE_COMMANDS, type NodeCommand } from '../../../contract/commands.ts';
import { mayActAs, type Role } from '../../../domain/token.ts';
import { type Condition, type LifecycleEvent, TRANSITIONS } from '../../../machines/transitions.ts';
import type { Row } from '../live/row.ts';
import { capital, words } from '../text.ts';

export interface Command {
  readonly id: CommandId;
  readonly label: string;
  readonly summary: string;
  readonly role: Role;
  readonly destroys: string | null;
}

const COMMAND_IDS = Object.keys(NODE_COMMANDS) as CommandId[];

/** The last word of the verb: `nodes accept` is `accept`. */
const verbOf = (id: CommandId): string => NODE_COMMANDS[id].cli.verb.split(' ').at(-1) ?? '';

const LABELS: Readonly<Partial<Record<CommandId, string>>> = {
  cancelNodeWork: 'Cancel its work',
  endNodeRescue: 'End the rescue',
  confirmNodeDrained: 'Confirm that it is drained',
  rebindNode: 'Accept its changed hardware',
};

export const COMMANDS: readonly Command[] = COMMAND_IDS.map((id) => {
  const { access, write, cli }: NodeCommand = NODE_COMMANDS[id];
  return {
    id,
    label: LABELS[id] ?? capital(words(verbOf(id))),
    summary: capital(cli.summary),
    role: access === 'public' ? 'viewer' : access,
    destroys: write.destroys,
  };
});

export const commandOf = (id: CommandId): Command => {
  const found = COMMANDS.find((command) => command.id === id);
  if (!found) throw new Error(`there is no command ${id}`);
  return found;
};

const EVENT_OF: Readonly<Partial<Record<CommandId, LifecycleEvent>>> = {
  endNodeRescue: 'rescue-ended',
  confirmNodeDrained: 'drained',
};

type FleetNode = Pick<Row, 'state' | 'failed_step' | 'allocated_to'>;

/** What the page cannot know counts as fulfilled. */
function holds(condition: Condition | undefined, { failed_step: step }: FleetNode): boolean {
  switch (condition) {
    case 'failed-after-commissioning':
      return step !== 'commission';
    case 'failed-to-enroll':
      return step === 'enroll';
    case 'failed-to-drain':
      return step === 'drain';
    case 'failed-to-install':
      return step === 'deploy' || step === 'enroll';
    default:
      return true;
  }
}

/** `ready, enrolling or failed` */
const either = (names: readonly string[]): string => names.join(', ').replace(/, ([^,]*)$/, ' or $1');

const TAKES_FROM_USER: ReadonlySet<CommandId> = new Set([
  ...(['commissionNode', 'deployNode', 'releaseNode', 'drainNode', 'retireNode', 'removeNode'] as const),
]);

/** Why the command is refused for this node; null: nothing speaks against it here. */
export function refusalOf(id: CommandId, node: FleetNode, role: Role): string | null {
  const needed = commandOf(id).role;
  if (!mayActAs(role, needed)) return `needs the role ${needed}; yours is ${role}`;
  if (id === 'rebindNode') return null;
  const event = EVENT_OF[id] ?? (verbOf(id) as LifecycleEvent);
  const possible = TRANSITIONS.filter((row) => row.event === event && holds(row.if, node));
  if (!possible.some(({ from }) => from === node.state)) {
    const from = [...new Set(TRANSITIONS.filter((row) => row.event === event).map((row) => row.from))];
    const step = node.failed_step === null ? '' : ` at ${node.failed_step}`;
    return `its state is ${node.state}${step}; this needs ${from.length > 4 ? 'another state' : either(from)}`;
  }
  if (node.allocated_to !== null && TAKES_FROM_USER.has(id)) return `${node.allocated_to} uses it`;
  return null;
}
