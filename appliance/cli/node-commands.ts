// The verbs that move nodes through their lifecycle, generated from the command table: name, help, options and route.

import type { Command } from 'commander';
import { type CommandId, NODE_COMMANDS, type NodeCommand } from '../contract/commands.ts';
import { NODES, selecting } from './selection-options.ts';

const COMMANDS = Object.entries(NODE_COMMANDS) as [CommandId, NodeCommand][];

/** `connected`: adds the options that find the appliance. */
export function addNodeCommands(program: Command, connected: (command: Command) => Command): void {
  for (const [id, { cli }] of COMMANDS) {
    const { parent, name } = placeOf(program, cli.verb);
    const command = selecting(connected(parent.command(name)))
      .summary(cli.summary)
      .description(`${cli.summary[0]?.toUpperCase()}${cli.summary.slice(1)}.`)
      .argument(...NODES)
      .option('--note <text>', 'the reason, for the record')
      .action(async (nodes, options) => (await import('./run-command.ts')).runCommand(id, nodes, options));
    if (cli.way !== null) command.option('-w, --wait', 'follow every stage until the work is done or has failed');
    if (id === 'deployNode') command.option('--profile <name>', 'use this profile instead of the declared one');
    if (cli.example !== undefined) command.addHelpText('after', `\nExample:\n  ${cli.example}`);
  }
}

/** `nodes accept` goes below the command `nodes`. */
function placeOf(program: Command, verb: string): { parent: Command; name: string } {
  const [first = verb, second] = verb.split(' ');
  if (second === undefined) return { parent: program, name: first };
  const parent = program.commands.find((each) => each.name() === first);
  if (!parent) throw new Error(`there is no command ${first} for ${verb}`);
  return { parent, name: second };
}
