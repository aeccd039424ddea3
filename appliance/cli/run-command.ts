// Runs one command of the table on the nodes that were named or selected.

import { type CommandId, NODE_COMMANDS, type NodeCommand } from '../contract/commands.ts';
import type { Answer } from '../contract/wire.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { follow } from './follow.ts';
import { newestEvent } from './follow-node.ts';
import { chosenNodes, type SelectionOptions } from './node-selection.ts';
import { failureOf, onMany, runOnMany } from './on-many.ts';
import { operate } from './operate.ts';

export interface CommandOptions extends ConnectionOptions, SelectionOptions {
  readonly note?: string;
  readonly wait?: boolean;
  readonly profile?: string;
}

export async function runCommand(id: CommandId, names: readonly string[], options: CommandOptions): Promise<void> {
  const { cli, write }: NodeCommand = NODE_COMMANDS[id];
  const connection = await connect(options);
  const undertaking = { verb: cli.verb, destroys: write.destroys };
  const nodes = await chosenNodes(connection, names, options, undertaking);
  if (nodes === null) return;
  if (options.wait) return sentAndFollowed(connection, id, nodes, options);
  await runOnMany(nodes, options, {
    work: (node) => send(connection, id, node, options),
    doing: `${cli.verb} …`,
    done: ({ state, waits_for }) => `${state}. ${waits_for}`,
    json: (answer) => answer,
  });
}

/** Those that were refused end the verb as a failure, after the others have arrived. */
async function sentAndFollowed(
  connection: Connection,
  id: CommandId,
  nodes: readonly string[],
  options: CommandOptions,
): Promise<void> {
  const before = new Map<string, number>();
  for (const node of nodes) before.set(node, await newestEvent(connection, node));
  const outcomes = await onMany(nodes, (node) => send(connection, id, node, options));
  const begun = outcomes.flatMap(({ node, answer }) => (answer ? [node] : []));
  const way = NODE_COMMANDS[id].cli.way ?? { via: [], to: null };
  if (begun.length > 0) await follow(connection, begun, { way, before, json: options.json === true });
  const failure = failureOf(outcomes);
  if (failure) throw failure;
}

const send = (
  connection: Connection,
  id: CommandId,
  node: string,
  { note, profile }: CommandOptions,
): Promise<Answer<CommandId>> =>
  operate(connection, id, {
    params: { node },
    // Members that are undefined are not sent.
    body: {
      note,
      ...(NODE_COMMANDS[id].write.destroys !== null && { confirm: node }),
      ...(id === 'deployNode' && { profile }),
    } as { confirm: string },
  });
