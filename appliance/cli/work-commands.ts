// The verbs that put a node to work, and what they take. Their work is loaded only when one runs.

import type { Command } from 'commander';
import type { WorkVerb } from './work.ts';

const VERBS: readonly (readonly [verb: WorkVerb, means: string])[] = [
  ['commission', 'gather facts of a node and test its hardware; its disks are left alone'],
  ['deploy', "install a node's profile; what is on its disk is lost"],
  ['release', 'erase the disks of a node, then it is free again'],
  ['cancel', 'call off the commissioning, deployment or release of a node'],
  ['rescue', 'start the service OS of a node with SSH'],
  ['end-rescue', 'return a node from rescue to its installed system'],
  ['drain', 'let the workload of a node leave'],
  ['drained', 'say that the workload of a node has left, where the node cannot say so itself'],
  ['undrain', 'let the workload of a node come back'],
];

const DESTRUCTIVE: readonly WorkVerb[] = ['deploy', 'release'];

/** `connected`: adds the options that find the appliance. */
export function addWorkCommands(program: Command, connected: (command: Command) => Command): void {
  for (const [verb, means] of VERBS) {
    const command = connected(program.command(verb))
      .summary(means)
      .description(`${means[0]?.toUpperCase()}${means.slice(1)}.`)
      .argument('<node...>', 'host names, MAC addresses or ids')
      .option('--note <text>', 'why, for whoever reads it later')
      .option('-w, --wait', 'follow every stage until it is done or has failed')
      .action(async (nodes, options) => (await import('./work.ts')).work(verb, nodes, options));
    if (DESTRUCTIVE.includes(verb)) command.option('--yes', 'do not ask for the name to be typed out');
    if (verb === 'deploy') {
      command
        .option('--profile <name>', "another profile than the node's")
        .addHelpText('after', '\nExample:\n  coldiron deploy node05 --wait');
    }
  }
  connected(program.command('diagnose'))
    .summary('why is this node not where it should be?')
    .description('Reads what happened to a node, and names the most likely reason and what to do next.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./diagnose.ts')).diagnose(node, options));
  connected(program.command('sessions'))
    .summary('sessions of the service OS of a node')
    .description('Lists when the service OS of a node came up, what for, how far it came and how it ended.')
    .argument('<node>', 'host name, MAC address or id')
    .action(async (node, options) => (await import('./sessions.ts')).listSessions(node, options));
}
