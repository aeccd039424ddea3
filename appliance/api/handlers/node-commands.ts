// Maps each command of the table to the function that executes it.

import type { CommandId } from '../../contract/commands.ts';
import type { Answer, Body } from '../../contract/wire.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import type { Machine } from '../../domain/machine.ts';
import { type ObjectName, parseObjectName } from '../../domain/names.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import type { Handler, Handlers } from '../handler.ts';
import { nodeView } from '../views/node.ts';

type Executor<Id extends CommandId> = (
  deps: ManagementDeps,
  node: Machine,
  origin: Origin,
  body: Body<Id>,
) => Promise<Machine>;

type Life = Parameters<ManagementDeps['commands']['request']>[1];

const life =
  (event: Life): Executor<CommandId> =>
  ({ commands }, { id }, origin) =>
    commands.request(id, event, origin);

const EXECUTORS: { readonly [Id in CommandId]: Executor<Id> } = {
  acceptNode: life('accept'),
  commissionNode: ({ work }, node, origin) => work.plain(node, 'commission', origin),
  deployNode: ({ work }, node, origin, { profile }) => work.deploy(node, profileNamed(profile), origin),
  releaseNode: ({ work }, node, origin) => work.release(node, origin),
  markNodeFixed: life('mark-fixed'),
  cancelNodeWork: ({ work }, node, origin) => work.cancel(node, origin),
  rescueNode: ({ work }, node, origin) => work.rescue(node, origin),
  endNodeRescue: ({ work }, node, origin) => work.plain(node, 'rescue-ended', origin),
  drainNode: ({ work }, node, origin) => work.plain(node, 'drain', origin),
  confirmNodeDrained: ({ work }, node, origin) => work.plain(node, 'drained', origin),
  undrainNode: ({ work }, node, origin) => work.plain(node, 'undrain', origin),
  retireNode: life('retire'),
  reactivateNode: life('reactivate'),
  quarantineNode: life('quarantine'),
  clearNodeQuarantine: life('clear-quarantine'),
  rebindNode: ({ work }, node, origin) => work.rebind(node, origin),
  removeNode: life('remove'),
};

function profileNamed(text: string | undefined): ObjectName | null {
  if (text === undefined) return null;
  const name = parseObjectName(text);
  if (!name.ok) throw new ColdironError('invalid_request', `profile: ${name.reason}`);
  return name.value;
}

const handlerOf =
  <Id extends CommandId>(execute: Executor<Id>): Handler<CommandId> =>
  async (deps, { params, body, origin }): Promise<Answer<CommandId>> => {
    const node = await findNode(deps, params.node);
    const { note } = body;
    return nodeView(await execute(deps, node, { ...origin, ...(note !== undefined && { note }) }, body as Body<Id>));
  };

export const commandHandlers = Object.fromEntries(
  Object.entries(EXECUTORS).map(([id, execute]) => [id, handlerOf(execute as Executor<CommandId>)]),
) as unknown as Handlers<CommandId>;
